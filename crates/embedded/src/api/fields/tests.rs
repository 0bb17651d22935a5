//! What is well known of ownership, and laws that hold for any objects.

mod laws;
mod owners;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{FieldSet, Writer, apply, settle, track_update};
use crate::{
    api::error::ApiError,
    schema::{self, Schema, Tree},
};

const STATUS: &[&[&str]] = &[&["status"]];

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn writer(manager: &str) -> Writer<'_> {
    Writer { manager, api_version: "v1", subresource: None, time: at(0) }
}

fn builtin(kind: &str) -> Schema<'static> {
    let version = if kind == "Deployment" { "apps/v1" } else { "v1" };
    schema::builtin(version, kind).unwrap()
}

/// A custom kind with this schema of its spec.
fn custom(spec: Value) -> Tree {
    let metadata = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    let schema =
        json!({ "type": "object", "properties": { "metadata": { "$ref": metadata }, "spec": spec } });
    let definitions: Vec<(&str, &Value)> = schema::metadata_definitions().collect();
    Tree::of_schema(&schema, definitions.into_iter())
}

/// An object that is written to by and by.
struct Story<'a> {
    schema: Schema<'a>,
    object: Option<Value>,
    time: Timestamp,
}

impl<'a> Story<'a> {
    fn of(schema: Schema<'a>) -> Self {
        Self { schema, object: None, time: at(0) }
    }

    fn writer<'w>(&mut self, manager: &'w str) -> Writer<'w> {
        self.time += jiff::SignedDuration::from_secs(1);
        Writer { time: self.time, ..writer(manager) }
    }

    fn apply(&mut self, manager: &str, applied: Value) -> Result<&Value, ApiError> {
        self.applied(manager, applied, false)
    }

    fn force(&mut self, manager: &str, applied: Value) -> &Value {
        self.applied(manager, applied, true).unwrap()
    }

    fn applied(&mut self, manager: &str, applied: Value, force: bool) -> Result<&Value, ApiError> {
        let writer = self.writer(manager);
        let mut new = apply(self.schema, self.object.as_ref(), &applied, force, &writer, STATUS)?;
        if let Some(live) = &self.object {
            settle(live, &mut new);
        }
        Ok(self.object.insert(new))
    }

    fn update(&mut self, manager: &str, change: impl FnOnce(&mut Value)) -> &Value {
        let writer = self.writer(manager);
        let mut new = self.object.clone().unwrap_or_else(|| json!({}));
        change(&mut new);
        track_update(self.schema, self.object.as_ref(), &mut new, &writer, STATUS);
        self.object.insert(new)
    }

    fn object(&self) -> &Value {
        self.object.as_ref().unwrap()
    }

    fn owned(&self, manager: &str, operation: &str) -> Value {
        owned(self.object(), manager, operation)
    }
}

fn owned(object: &Value, manager: &str, operation: &str) -> Value {
    let entries = object["metadata"]["managedFields"].as_array();
    let mut entries = entries.into_iter().flatten();
    let entry = entries.find(|entry| entry["manager"] == manager && entry["operation"] == operation);
    entry.map_or(Value::Null, |entry| entry["fieldsV1"].clone())
}

/// The fields that a refusal names.
fn conflicts(refused: Result<&Value, ApiError>) -> Vec<String> {
    let error = refused.unwrap_err();
    assert_eq!((error.code.as_u16(), error.reason), (409, "Conflict"));
    let causes = error.details["causes"].as_array().unwrap().clone();
    causes.iter().map(|cause| cause["field"].as_str().unwrap().to_owned()).collect()
}
