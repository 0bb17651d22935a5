//! Random writes, the same for the same seed.
//!
//! A step is made from the object as it is when its turn comes, so that updates and patches hit something; two
//! servers that agree so far see the same step.

use std::fmt;

use anneal_kit::Rng;
use serde_json::{Value, json};

use crate::{
    overlay::{lay, leaves, nothing, remove},
    subjects::Subject,
};

/// A write to one object.
#[derive(Clone, Debug)]
pub struct Step {
    pub manager: String,
    pub status: bool,
    pub write: Write,
}

/// What is sent.
#[derive(Clone, Debug)]
pub enum Write {
    Create(Value),
    Apply { body: Value, force: bool },
    Update(Value),
    Json(Value),
    Merge(Value),
    Strategic(Value),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { manager, status, .. } = self;
        let part = if *status { " to the status" } else { "" };
        let (what, body) = match &self.write {
            Write::Create(body) => ("creates", body),
            Write::Apply { body, force: false } => ("applies", body),
            Write::Apply { body, force: true } => ("applies by force", body),
            Write::Update(body) => ("updates", body),
            Write::Json(body) => ("sends a JSON patch", body),
            Write::Merge(body) => ("sends a merge patch", body),
            Write::Strategic(body) => ("sends a strategic patch", body),
        };
        write!(f, "{manager} {what}{part}: {body}")
    }
}

/// One choice of a list.
pub fn pick<'a, T>(rng: &Rng, choices: &'a [T]) -> &'a T {
    let at = usize::try_from(rng.below(choices.len() as u64)).unwrap_or_default();
    &choices[at]
}

fn chance(rng: &Rng, percent: u64) -> bool {
    rng.below(100) < percent
}

/// The next write to an object, `None` if it is not there yet.
pub fn next(rng: &Rng, subject: &Subject, name: &str, managers: u64, live: Option<&Value>) -> Step {
    let manager = format!("m{}", rng.below(managers));
    let Some(live) = live else {
        let mut body = composed(rng, subject, false, 3);
        identify(subject, name, &mut body);
        let write = if chance(rng, 50) { Write::Create(body) } else { Write::Apply { body, force: false } };
        return Step { manager, status: false, write };
    };
    let status = subject.has_status && chance(rng, 25);
    let write = match rng.below(100) {
        0..50 => {
            let mut body = if chance(rng, 30) && !status {
                composed(rng, subject, status, 5)
            } else {
                parts(rng, subject, status, 4)
            };
            if chance(rng, 4) {
                break_it(rng, subject, &mut body);
            }
            identify(subject, name, &mut body);
            Write::Apply { body, force: chance(rng, 40) }
        }
        50..65 => Write::Update(updated(rng, subject, status, live)),
        65..75 => Write::Json(json_patch(rng, subject, status, live)),
        75..88 => Write::Merge(merge_patch(rng, subject, status, live)),
        _ if subject.builtin => Write::Strategic(strategic_patch(rng, subject, status, live)),
        _ => Write::Merge(merge_patch(rng, subject, status, live)),
    };
    Step { manager, status, write }
}

/// Makes a configuration one that cannot be applied.
fn break_it(rng: &Rng, subject: &Subject, body: &mut Value) {
    let mut choices = vec![
        json!({ "nope": 1 }),
        json!({ "metadata": { "finalizers": ["anneal.dev/x", "anneal.dev/x"] } }),
        json!({ "metadata": { "labels": ["a"] } }),
        json!({ "metadata": { "labels": { "a": 1 } } }),
    ];
    if !subject.builtin {
        choices.push(json!({ "spec": { "ports": [{ "name": "a" }, { "name": "a", "protocol": "TCP" }] } }));
        choices.push(json!({ "spec": { "tags": ["x", "x"] } }));
        choices.push(json!({ "spec": { "ports": [{ "name": "a", "rules": [{ "note": "x" }] }] } }));
        choices.push(json!({ "spec": { "tags": [null] } }));
        choices.push(json!({ "spec": "text" }));
    }
    *body = pick(rng, &choices).clone();
}

fn identify(subject: &Subject, name: &str, body: &mut Value) {
    let identity = json!({
        "apiVersion": subject.api_version, "kind": subject.kind, "metadata": { "name": name }
    });
    lay(&identity, body);
}

/// Some parts, laid over each other.
fn parts(rng: &Rng, subject: &Subject, status: bool, most: u64) -> Value {
    let mut body = nothing();
    for _ in 0..rng.below(most + 1) {
        lay(&part(rng, subject, status), &mut body);
    }
    body
}

fn part(rng: &Rng, subject: &Subject, status: bool) -> Value {
    // A write to one half now and then tries the other, which must come to nothing.
    let other = chance(rng, 5);
    let parts = if status != other && !subject.status_parts.is_empty() {
        &subject.status_parts
    } else {
        &subject.parts
    };
    pick(rng, pick::<Vec<Value>>(rng, parts)).clone()
}

fn composed(rng: &Rng, subject: &Subject, status: bool, most: u64) -> Value {
    let mut body = subject.base.clone();
    lay(&parts(rng, subject, status, most), &mut body);
    body
}

/// The live object with something added and something removed.
fn updated(rng: &Rng, subject: &Subject, status: bool, live: &Value) -> Value {
    let mut body = live.clone();
    for _ in 0..rng.below(3) {
        lay(&part(rng, subject, status), &mut body);
    }
    if chance(rng, 50) {
        remove(&mut body, pick::<String>(rng, &removable(live, status)));
    }
    match rng.below(20) {
        0 => body["metadata"]["managedFields"] = json!([]),
        1 => body["metadata"]["managedFields"] = json!([{}]),
        2 => body["metadata"]["managedFields"] = json!([{ "manager": "broken" }]),
        3 => forget_one(&mut body),
        4..8 => remove(&mut body, "/metadata/managedFields"),
        _ => {}
    }
    body
}

/// Takes out the first owner by name: the order they come in depends on the time.
fn forget_one(body: &mut Value) {
    let Some(entries) = body["metadata"]["managedFields"].as_array_mut() else { return };
    let name =
        |entry: &Value| [&entry["manager"], &entry["operation"], &entry["subresource"]].map(Value::to_string);
    if let Some(first) = (0..entries.len()).min_by_key(|at| name(&entries[*at])) {
        entries.remove(first);
    }
}

/// Pointers to what a write may sensibly remove.
fn removable(live: &Value, status: bool) -> Vec<String> {
    let wanted: &[&str] = if status {
        &["/status/"]
    } else {
        &[
            "/spec/",
            "/data/",
            "/binaryData/",
            "/metadata/labels/",
            "/metadata/annotations/",
            "/metadata/finalizers/",
        ]
    };
    let mut found = leaves(live);
    found.retain(|pointer| wanted.iter().any(|prefix| pointer.starts_with(prefix)));
    // Also what contains them.
    let parents: Vec<_> = found
        .iter()
        .filter_map(|pointer| pointer.rsplit_once('/'))
        .map(|(parent, _)| parent.to_owned())
        .filter(|parent| parent.matches('/').count() > 1)
        .collect();
    found.extend(parents);
    found.push("/metadata/labels/a".to_owned());
    found
}

fn json_patch(rng: &Rng, subject: &Subject, status: bool, live: &Value) -> Value {
    let mut operations = Vec::new();
    for _ in 0..=rng.below(2) {
        let part = part(rng, subject, status);
        let leaf = pick(rng, &leaves(&part)).clone();
        let value = part.pointer(&leaf).cloned().unwrap_or_default();
        let there = pick(rng, &removable(live, status)).clone();
        operations.push(match rng.below(6) {
            0 | 1 => json!({ "op": "add", "path": leaf, "value": value }),
            2 => json!({ "op": "replace", "path": leaf, "value": value }),
            3 => json!({ "op": "remove", "path": there }),
            4 => json!({ "op": "test", "path": there, "value": live.pointer(&there) }),
            _ => json!({ "op": "copy", "from": there, "path": "/metadata/labels/b" }),
        });
    }
    json!(operations)
}

fn merge_patch(rng: &Rng, subject: &Subject, status: bool, live: &Value) -> Value {
    let mut patch = parts(rng, subject, status, 2);
    if chance(rng, 50) {
        null_out(pick::<String>(rng, &removable(live, status)), &mut patch);
    }
    patch
}

/// Sets null at a pointer, unless that leads through a list.
fn null_out(pointer: &str, patch: &mut Value) {
    let tokens: Vec<_> = pointer.split('/').skip(1).map(|token| token.replace("~1", "/")).collect();
    if tokens.iter().any(|token| token.parse::<u32>().is_ok()) {
        return;
    }
    let nulled = tokens.iter().rev().fold(Value::Null, |inner, name| json!({ name: inner }));
    lay(&nulled, patch);
}

fn strategic_patch(rng: &Rng, subject: &Subject, status: bool, live: &Value) -> Value {
    let mut patch = merge_patch(rng, subject, status, live);
    if chance(rng, 40) {
        direct(rng, &mut patch, live);
    }
    patch
}

/// Puts a directive into one of the patch's objects or lists.
fn direct(rng: &Rng, patch: &mut Value, live: &Value) {
    let finalizers = json!({ "metadata": { "$deleteFromPrimitiveList/finalizers": ["anneal.dev/x"] } });
    let labels = json!({ "metadata": { "labels": { "$patch": "replace", "new": "1" } } });
    let containers = ["/spec/template/spec", "/spec"]
        .into_iter()
        .find(|pointer| live.pointer(pointer).is_some_and(|spec| spec["containers"].is_array()));
    let under = |inner: Value| match containers {
        Some("/spec") => json!({ "spec": inner }),
        Some(_) => json!({ "spec": { "template": { "spec": inner } } }),
        None => nothing(),
    };
    let names = containers.and_then(|at| live.pointer(at)).map_or(Vec::new(), |spec| {
        let items = spec["containers"].as_array().into_iter().flatten();
        items.map(|item| json!({ "name": item["name"] })).collect::<Vec<_>>()
    });
    let reversed: Vec<_> = names.iter().rev().cloned().collect();
    let choices = [
        finalizers,
        labels,
        json!({ "metadata": { "annotations": { "$patch": "delete" } } }),
        json!({ "spec": { "ports": [{ "port": 81, "$patch": "delete" }] } }),
        under(json!({ "containers": [{ "name": "side", "$patch": "delete" }] })),
        under(json!({ "$setElementOrder/containers": reversed })),
        under(json!({ "$retainKeys": ["containers", "schedulerName"] })),
    ];
    // Upstream carries out a deletion and an addition to one list in no fixed order.
    remove(patch, "/metadata/finalizers");
    lay(pick(rng, &choices), patch);
}
