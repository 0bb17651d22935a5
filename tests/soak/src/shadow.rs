//! One server, and our own rules beside it: what they make of each write, given the object before it.
//!
//! This judges patches and ownership alone. Defaults and what the server adds by itself are taken from its
//! answer: they may be there without our knowing of them.

use anneal_embedded::{
    api::{
        fields::{self, Writer},
        patch::{self, PatchKind},
    },
    schema::{self, Schema, Tree},
};
use anneal_harness::Reply;
use anneal_kit::Rng;
use anyhow::{Context, Result};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    drive::Target,
    normal::{content, differences, owner_differences, owners},
    overlay::{nothing, remove},
    step::{self, Step, Write},
    subjects::{Subject, shape_schema},
};

/// Our rules, with the schemas they go by.
pub struct Model {
    custom: Tree,
}

impl Model {
    pub fn new() -> Self {
        let mut schema = shape_schema();
        schema["properties"]["metadata"] =
            json!({ "$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" });
        let definitions: Vec<(&str, &Value)> = schema::metadata_definitions().collect();
        Self { custom: Tree::of_schema(&schema, definitions.into_iter()) }
    }

    fn schema(&self, subject: &Subject) -> Result<Schema<'_>> {
        let schema = if subject.builtin {
            schema::builtin(subject.api_version, subject.kind)
        } else {
            self.custom.root()
        };
        schema.with_context(|| format!("no schema of {}", subject.kind))
    }

    /// What our rules say the answer should be: an object, or the code of a refusal.
    fn answer(
        &self,
        subject: &Subject,
        step: &Step,
        live: Option<&Value>,
        real: &Reply,
    ) -> Result<Result<Value, Value>> {
        let schema = self.schema(subject)?;
        let writer = Writer {
            manager: &step.manager,
            api_version: subject.api_version,
            subresource: step.status.then_some("status"),
            time: last_write(live),
        };
        let reset = fields::reset_fields(subject.api_version, subject.kind, subject.has_status, step.status);
        let empty = nothing();
        let kind = match &step.write {
            Write::Apply { body, force } => {
                let new = fields::apply(schema, live, body, *force, &writer, reset);
                return Ok(new.map_err(|error| error.status()));
            }
            Write::Create(_) | Write::Update(_) => None,
            Write::Json(body) => Some((PatchKind::Json, body)),
            Write::Merge(body) => Some((PatchKind::Merge, body)),
            Write::Strategic(body) => Some((PatchKind::Strategic, body)),
        };
        let mut patched = match kind {
            None => nothing(),
            Some((kind, body)) => match patch::apply(kind, Some(schema), live.unwrap_or(&empty), body) {
                Ok(patched) => patched,
                Err(error) => return Ok(Err(error.status())),
            },
        };
        if real.status >= 400 {
            return Ok(Ok(patched));
        }
        // Whom it belongs to is judged by the object that came of it.
        let mut new = real.json()?;
        let sent = match &step.write {
            Write::Update(body) | Write::Create(body) => body["metadata"].get("managedFields").cloned(),
            _ => patched["metadata"].get("managedFields").cloned(),
        };
        match sent {
            Some(sent) => new["metadata"]["managedFields"] = sent,
            None => remove(&mut new, "/metadata/managedFields"),
        }
        fields::track_update(schema, live, &mut new, &writer, reset);
        if kind.is_none() {
            return Ok(Ok(new));
        }
        patched["metadata"]["managedFields"] = new["metadata"]["managedFields"].take();
        Ok(Ok(patched))
    }
}

/// The latest time of ownership. A later one would change the order of owners, and so count as a change.
fn last_write(live: Option<&Value>) -> Timestamp {
    let entries = live.and_then(|live| live["metadata"]["managedFields"].as_array());
    let times = entries.into_iter().flatten().filter_map(|entry| entry["time"].as_str()?.parse().ok());
    times.max().unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Runs one sequence. The steps so far and what our rules got wrong in the last of them, or nothing.
///
/// # Errors
/// When the server does not answer.
pub async fn run(
    seed: u64,
    subject: &Subject,
    target: &Target,
    model: &Model,
) -> Result<Option<(Vec<Step>, Vec<String>)>> {
    let rng = Rng::seeded(seed);
    let name = format!("shadow-{seed}");
    let managers = 2 + rng.below(3);
    let mut taken = Vec::new();
    for _ in 0..5 + rng.below(16) {
        let live = target.get(subject, &name).await?;
        let step = step::next(&rng, subject, &name, managers, live.as_ref());
        taken.push(step.clone());
        let real = target.write(subject, &name, &step).await?;
        let ours = model.answer(subject, &step, live.as_ref(), &real)?;
        let mut found = judge(live.as_ref(), &real, &ours)?;
        if let (200..300, Ok(ours)) = (real.status, &ours)
            && found.is_empty()
            && live.is_some()
        {
            found = content_differs(target, subject, &name, &step, ours, &real.json()?).await?;
        }
        if !found.is_empty() {
            return Ok(Some((taken, found)));
        }
    }
    target.delete(subject, &name).await?;
    Ok(None)
}

/// The server's own defaults on our result must make it the server's result.
async fn content_differs(
    target: &Target,
    subject: &Subject,
    name: &str,
    step: &Step,
    ours: &Value,
    real: &Value,
) -> Result<Vec<String>> {
    if matches!(step.write, Write::Create(_) | Write::Update(_)) {
        return Ok(Vec::new());
    }
    let mut body = ours.clone();
    remove(&mut body, "/metadata/managedFields");
    for field in ["resourceVersion", "uid"] {
        body["metadata"][field] = real["metadata"][field].clone();
    }
    let reply = target.try_update(subject, name, step.status, &body).await?;
    if reply.status != 200 {
        return Ok(vec![format!("the server does not take our result {body}: {reply}")]);
    }
    Ok(differences(&content(&reply.json()?), &content(real)))
}

fn judge(live: Option<&Value>, real: &Reply, ours: &Result<Value, Value>) -> Result<Vec<String>> {
    let body = real.json()?;
    let ours = match (real.status, ours) {
        (200..300, Ok(ours)) => ours,
        (200..300, Err(status)) => return Ok(vec![format!("we refuse: {status}\nthe server: {body}")]),
        // Our rules refuse for conflicts and for patches that make no sense; the rest is validation, which
        // is not judged here.
        (409, Err(status)) if status["code"] == 409 => return Ok(conflicts_differ(status, &body)),
        (409, _) if body["details"]["causes"][0]["reason"] == "FieldManagerConflict" => {
            return Ok(vec![format!("we see no conflict, the server: {body}")]);
        }
        (_, Err(status)) if status["code"] == 409 => {
            return Ok(vec![format!("we see a conflict: {status}\nthe server: {body}")]);
        }
        // What upstream cannot make sense of is a 500 there, and the client's fault here.
        (500, Ok(_)) => return Ok(vec![format!("we take what the server does not: {body}")]),
        _ => return Ok(Vec::new()),
    };
    let empty = nothing();
    let live = live.unwrap_or(&empty);
    let mut found = owner_differences(&strip_admission(ours), &strip_admission(&body));
    // Whether anything was written must be our view too, once defaults and the like are as they should be.
    let mut settled = body.clone();
    settled["metadata"]["managedFields"] = ours["metadata"]["managedFields"].clone();
    fields::settle(live, &mut settled);
    let written = live["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"];
    if !written && live["metadata"]["managedFields"] != settled["metadata"]["managedFields"] {
        found.push("nothing was written, yet we change ownership".to_owned());
    }
    Ok(found)
}

/// Owners but for what admission adds: it comes after the server has recorded owners.
fn strip_admission(object: &Value) -> crate::normal::Owners {
    const SERVICE: &[&str] =
        &[".spec.clusterIP", ".spec.clusterIPs", ".spec.ipFamilies", ".spec.ipFamilyPolicy"];
    const ADMISSION: &[&str] = &[
        ".spec.tolerations",
        ".spec.serviceAccount",
        ".spec.serviceAccountName",
        ".spec.priority",
        ".spec.preemptionPolicy",
    ];
    let mut owners = owners(object);
    for fields in owners.values_mut() {
        fields.retain(|field| match object["kind"].as_str() {
            Some("Pod") => !ADMISSION.contains(&field.as_str()),
            Some("Service") => !SERVICE.contains(&field.as_str()),
            _ => true,
        });
    }
    if object["kind"] == "Job" {
        // The strategy makes these from the uid, which an object has only after its owners were recorded.
        for fields in owners.values_mut() {
            fields.retain(|field| !field.contains("controller-uid") && !field.contains("job-name"));
            fields.retain(|field| {
                !matches!(
                    field.as_str(),
                    ".spec.selector" | ".metadata.labels" | ".spec.template.metadata.labels"
                )
            });
        }
    }
    owners.retain(|_, fields| !fields.is_empty());
    owners
}

fn conflicts_differ(ours: &Value, real: &Value) -> Vec<String> {
    let causes = |status: &Value| {
        let causes = status["details"]["causes"].as_array().cloned().unwrap_or_default();
        let mut causes: Vec<_> = causes.iter().map(Value::to_string).collect();
        causes.sort();
        causes
    };
    let first = |status: &Value| {
        let message = status["message"].as_str().unwrap_or_default().to_owned();
        message.split(':').next().unwrap_or_default().to_owned()
    };
    if causes(ours) == causes(real) && first(ours) == first(real) {
        Vec::new()
    } else {
        vec![format!("conflicts differ: ours {ours}\nthe server's {real}")]
    }
}
