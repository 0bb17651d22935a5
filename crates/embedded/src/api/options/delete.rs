//! Options of deletes, which come in the body or else in the query.

use serde_json::Value;

use super::{Query, refuse, write::dry_run};
use crate::api::{
    error::{ApiError, Result},
    fault::{Faults, Path},
    wire,
};

/// What becomes of the objects that an object owns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Propagation {
    /// They are deleted later.
    Background,
    /// They are deleted first.
    Foreground,
    /// They stay and lose their owner.
    Orphan,
}

/// What the object must be.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Preconditions {
    pub uid: Option<String>,
    pub resource_version: Option<String>,
}

/// What a delete asks for.
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    pub grace_period_seconds: Option<i64>,
    pub propagation: Option<Propagation>,
    /// The old way to say it. Whether it was used decides between 200 and 202.
    pub orphan_dependents: Option<bool>,
    pub preconditions: Preconditions,
    pub dry_run: bool,
}

impl DeleteOptions {
    /// A body, if there is one, counts alone.
    pub fn parse(query: &Query, content_type: Option<&str>, body: &[u8]) -> Result<Self> {
        let raw = if body.is_empty() { Raw::of_query(query)? } else { Raw::of_body(content_type, body)? };
        raw.checked()
    }
}

/// The options before anyone has looked whether they make sense.
#[derive(Default)]
struct Raw {
    grace_period_seconds: Option<i64>,
    propagation: Option<String>,
    orphan_dependents: Option<bool>,
    preconditions: Preconditions,
    dry_run: Vec<String>,
}

impl Raw {
    fn of_query(query: &Query) -> Result<Self> {
        let owned = |name| query.first(name).map(str::to_owned);
        let filled = |name| owned(name).filter(|text| !text.is_empty());
        Ok(Self {
            grace_period_seconds: query.number("gracePeriodSeconds")?,
            propagation: owned("propagationPolicy"),
            orphan_dependents: query.switch("orphanDependents"),
            preconditions: Preconditions { uid: filled("uid"), resource_version: filled("resourceVersion") },
            dry_run: query.all("dryRun").map(str::to_owned).collect(),
        })
    }

    fn of_body(content_type: Option<&str>, body: &[u8]) -> Result<Self> {
        let value = wire::decode(content_type, body)?.value;
        if value.is_null() {
            return Ok(Self::default());
        }
        if !value.is_object() {
            return Err(mistyped("", &value, "v1.DeleteOptions"));
        }
        let kind = text(&value, "kind")?.unwrap_or_default();
        if !matches!(kind.as_str(), "" | "DeleteOptions") {
            let version = text(&value, "apiVersion")?.unwrap_or_default();
            let message = format!("no kind {kind:?} is registered for version {version:?}");
            return Err(ApiError::bad_request(message));
        }
        let conditions = &value["preconditions"];
        if !conditions.is_null() && !conditions.is_object() {
            return Err(mistyped("preconditions", conditions, "v1.Preconditions"));
        }
        let preconditions = Preconditions {
            uid: text(conditions, "uid")?,
            resource_version: text(conditions, "resourceVersion")?,
        };
        Ok(Self {
            grace_period_seconds: field(&value, "gracePeriodSeconds", "int64", Value::as_i64)?,
            propagation: text(&value, "propagationPolicy")?,
            orphan_dependents: field(&value, "orphanDependents", "bool", Value::as_bool)?,
            preconditions,
            dry_run: field(&value, "dryRun", "[]string", texts)?.unwrap_or_default(),
        })
    }

    fn checked(self) -> Result<DeleteOptions> {
        let mut faults = Faults::default();
        let path = Path::new("propagationPolicy");
        let policy = self.propagation.as_deref();
        if let (Some(policy), Some(_)) = (policy, self.orphan_dependents) {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            faults.invalid_text(&path, policy, detail);
        }
        let propagation = policy.and_then(|policy| match policy {
            "Background" => Some(Propagation::Background),
            "Foreground" => Some(Propagation::Foreground),
            "Orphan" => Some(Propagation::Orphan),
            _ => None,
        });
        if let (Some(policy), None) = (policy, propagation) {
            faults.not_supported(&path, &policy.into(), &["Foreground", "Background", "Orphan", "nil"]);
        }
        let dry_run = dry_run(&self.dry_run.iter().map(String::as_str).collect::<Vec<_>>(), &mut faults);
        refuse("DeleteOptions", &faults)?;
        Ok(DeleteOptions {
            grace_period_seconds: self.grace_period_seconds,
            propagation,
            orphan_dependents: self.orphan_dependents,
            preconditions: self.preconditions,
            dry_run,
        })
    }
}

/// A field of a type; null is as good as absent.
fn field<T>(object: &Value, name: &str, kind: &str, read: impl Fn(&Value) -> Option<T>) -> Result<Option<T>> {
    match &object[name] {
        Value::Null => Ok(None),
        value => read(value).map(Some).ok_or_else(|| mistyped(name, value, kind)),
    }
}

fn text(object: &Value, name: &str) -> Result<Option<String>> {
    field(object, name, "string", |value| value.as_str().map(str::to_owned))
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
}

fn mistyped(field: &str, value: &Value, kind: &str) -> ApiError {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let place =
        if field.is_empty() { "value".to_owned() } else { format!("struct field DeleteOptions.{field}") };
    ApiError::bad_request(format!("json: cannot unmarshal {found} into Go {place} of type {kind}"))
}
