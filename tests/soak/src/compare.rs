//! Two servers, the same writes: what differs.

use anneal_harness::Reply;
use anneal_kit::Rng;
use anyhow::Result;
use serde_json::Value;

use crate::{
    drive::Target,
    normal::{content, differences, is_nonsense, owner_differences, owners, refusal},
    step::{self, Step},
    subjects::Subject,
};

/// Runs one sequence on both. The steps taken so far and what differs after the last of them, or nothing.
///
/// # Errors
/// When a server does not answer.
pub async fn run(
    seed: u64,
    subject: &Subject,
    one: &Target,
    other: &Target,
) -> Result<Option<(Vec<Step>, Vec<String>)>> {
    let rng = Rng::seeded(seed);
    let name = format!("soak-{seed}");
    let managers = 2 + rng.below(3);
    let mut taken = Vec::new();
    for _ in 0..5 + rng.below(16) {
        let live = one.get(subject, &name).await?;
        let step = step::next(&rng, subject, &name, managers, live.as_ref());
        taken.push(step.clone());
        let here = one.write(subject, &name, &step).await?;
        let theirs = other.get(subject, &name).await?;
        let twin = Step { write: retarget(&step, live.as_ref(), theirs.as_ref())?, ..step };
        let there = other.write(subject, &name, &twin).await?;
        let found = compare(&here, &there)?;
        if !found.is_empty() {
            return Ok(Some((taken, found)));
        }
    }
    one.delete(subject, &name).await?;
    other.delete(subject, &name).await?;
    Ok(None)
}

/// A write made from one server's object, as if made from the other's.
fn retarget(step: &Step, mine: Option<&Value>, theirs: Option<&Value>) -> Result<step::Write> {
    let (Some(mine), Some(theirs)) = (mine, theirs) else { return Ok(step.write.clone()) };
    let text = |object: &Value, field: &str| object["metadata"][field].as_str().unwrap_or("none").to_owned();
    let translate = |body: &Value| -> Result<Value> {
        let mut translated = body.to_string();
        for field in ["uid", "namespace"] {
            translated = translated.replace(&text(mine, field), &text(theirs, field));
        }
        Ok(serde_json::from_str(&translated)?)
    };
    Ok(match &step.write {
        step::Write::Update(body) => {
            let mut body = translate(body)?;
            for field in ["resourceVersion", "creationTimestamp"] {
                body["metadata"][field] = theirs["metadata"][field].clone();
            }
            step::Write::Update(body)
        }
        step::Write::Json(body) => step::Write::Json(translate(body)?),
        write => write.clone(),
    })
}

/// What two answers differ in.
fn compare(one: &Reply, other: &Reply) -> Result<Vec<String>> {
    if is_nonsense(one) && is_nonsense(other) {
        return Ok(Vec::new());
    }
    if one.status != other.status {
        return Ok(vec![format!("{one}\n{other}")]);
    }
    let (one, other) = (one.json()?, other.json()?);
    if one["kind"] == "Status" {
        return Ok(differences(&refusal(&one), &refusal(&other)));
    }
    let mut found = differences(&content(&one), &content(&other));
    found.extend(owner_differences(&owners(&one), &owners(&other)));
    Ok(found)
}
