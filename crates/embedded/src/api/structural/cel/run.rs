//! Asks the rules of a schema about an object.

use serde_json::Value;

use super::{
    super::{
        super::fault::{Fault, Faults, Path},
        lists::OldItems,
        place::Place,
    },
    Compiled, Rules, eval,
    meter::{Failure, Meter, PER_OBJECT, PER_RULE},
    value::Val,
};
use crate::schema::{Schema, Type};

/// More faults than anybody reads.
const MAX_FAULTS: usize = 500;

/// The longest message that a rule may make up.
const MAX_MESSAGE: usize = 5 * 1024;

/// Judges a value, on update beside what it was.
pub fn check(rules: &Rules, schema: Schema<'_>, value: &Value, old: Option<&Value>, faults: &mut Faults) {
    let mut judge = Judge { rules, faults, left: PER_OBJECT };
    let resource = rules.root == Some(schema.id()) || schema.embedded_resource;
    let at = At { schema, value, old, resource, unchanged: false };
    // Having said that there is no budget left is all there is to do about it.
    let _ = judge.visit(at, Place::Root);
}

/// There is nothing left to spend on further rules.
struct Broke;

struct Judge<'j> {
    rules: &'j Rules,
    faults: &'j mut Faults,
    left: u64,
}

/// A value with everything that is known about it.
#[derive(Clone, Copy)]
struct At<'v> {
    schema: Schema<'v>,
    value: &'v Value,
    old: Option<&'v Value>,
    resource: bool,
    /// Something above, which has an identity, is what it was.
    unchanged: bool,
}

impl Judge<'_> {
    fn visit(&mut self, mut at: At<'_>, place: Place<'_>) -> Result<(), Broke> {
        if at.value.is_null()
            || !self.rules.on_the_way.contains(&at.schema.id())
            || self.faults.len() >= MAX_FAULTS
        {
            return Ok(());
        }
        at.unchanged |= at.old == Some(at.value);
        for rule in self.rules.by_schema.get(&at.schema.id()).into_iter().flatten() {
            self.ask(rule, at, place)?;
        }
        let inner = |schema: Schema<'_>| schema.embedded_resource;
        match at.value {
            Value::Object(fields) => {
                let old = at.old.filter(|_| !at.schema.atomic_map);
                for (name, value) in fields {
                    let old = old.and_then(|old| old.get(name));
                    if at.resource && name == "metadata" {
                        continue;
                    } else if let Some(schema) = at.schema.property(name) {
                        let at = At { schema, value, old, resource: inner(schema), ..at };
                        self.visit(at, Place::Field(&place, name))?;
                    } else if let Some(schema) = at.schema.additional() {
                        let at = At { schema, value, old, resource: inner(schema), ..at };
                        self.visit(at, Place::Key(&place, name))?;
                    }
                }
            }
            Value::Array(items) => {
                let Some(schema) = at.schema.items() else { return Ok(()) };
                let before = OldItems::new(at.schema, at.old);
                for (index, value) in items.iter().enumerate() {
                    let at = At { schema, value, old: before.of(value), resource: inner(schema), ..at };
                    self.visit(at, Place::Item(&place, index))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn ask(&mut self, rule: &Compiled, at: At<'_>, place: Place<'_>) -> Result<(), Broke> {
        let is_new = rule.uses_old_self && at.old.is_none() && !rule.optional_old_self;
        // What did not change is not judged again, except by rules that are about change.
        if is_new || (at.unchanged && !rule.uses_old_self) {
            return Ok(());
        }
        let path = Path::new(&place.bracketed());
        let kind: Value = type_name(at.schema.kind).into();
        let mut meter = Meter::new(self.left.min(PER_RULE));
        let before = meter.left();
        let outcome = eval::run(&rule.rule, variables(rule, at), &mut meter);
        self.left = self.left.saturating_sub(before - meter.left());
        match outcome {
            Ok(Val::Bool(true)) => Ok(()),
            Ok(_) => {
                let message = self.message(rule, at);
                self.refuse(rule, at, &path, &message);
                Ok(())
            }
            Err(Failure::Error(error)) if error.starts_with("no such overload") => {
                let detail = format!(
                    "'{error}': call arguments did not match a supported operator, function or macro signature for \
                     rule: {}",
                    rule.words
                );
                self.faults.invalid(&path, &kind, detail);
                Ok(())
            }
            Err(Failure::Error(error)) => {
                self.faults.invalid(&path, &kind, format!("{error} evaluating rule: {}", rule.words));
                Ok(())
            }
            Err(Failure::Spent) => {
                let detail = if self.left == 0 {
                    "validation failed due to running out of cost budget, no further validation rules will be run"
                        .to_owned()
                } else {
                    format!(
                        "'operation cancelled: actual cost limit exceeded': no further validation rules will be run \
                         due to call cost exceeds limit for rule: {}",
                        rule.words
                    )
                };
                self.faults.invalid(&path, &kind, detail);
                Err(Broke)
            }
        }
    }

    /// The rule's message, made up for this value if it can be.
    fn message(&mut self, rule: &Compiled, at: At<'_>) -> String {
        let Some(expression) = &rule.message else { return rule.words.clone() };
        let mut meter = Meter::new(self.left.min(PER_RULE));
        let before = meter.left();
        let made = eval::run(expression, variables(rule, at), &mut meter);
        self.left = self.left.saturating_sub(before - meter.left());
        match made {
            Ok(Val::Text(text)) => {
                let text = text.as_str().trim();
                let usable = !text.is_empty() && text.len() <= MAX_MESSAGE && !text.contains(['\n', '\r']);
                if usable { text.to_owned() } else { rule.words.clone() }
            }
            _ => rule.words.clone(),
        }
    }

    fn refuse(&mut self, rule: &Compiled, at: At<'_>, path: &Path, message: &str) {
        let path = match &rule.field {
            Some(field) if field.starts_with('[') => Path::new(&format!("{path}{field}")),
            Some(field) => path.child(field),
            None => path.clone(),
        };
        match rule.reason.as_deref() {
            Some("FieldValueRequired") => self.faults.required(&path, message),
            Some("FieldValueForbidden") => self.faults.forbidden(&path, message),
            Some("FieldValueDuplicate") => self.faults.duplicate(&path, at.value),
            // Whole objects and lists are not repeated: they may be long, and hold what is nobody's business.
            _ if matches!(at.schema.kind, Type::Object | Type::Array) => self.faults.add(Fault {
                field: path.to_string(),
                reason: "FieldValueInvalid",
                message: format!("Invalid value: {message}"),
            }),
            _ => self.faults.invalid(&path, at.value, message),
        }
    }
}

fn variables<'v>(rule: &Compiled, at: At<'v>) -> Vec<Val<'v>> {
    let old = at.old.map(|old| Val::of(old, at.schema, at.resource));
    let old = match (rule.optional_old_self, old) {
        (true, Some(old)) => Val::some(old),
        (true, None) => Val::Optional(None),
        (false, old) => old.unwrap_or(Val::Null),
    };
    vec![Val::of(at.value, at.schema, at.resource), old]
}

fn type_name(kind: Type) -> &'static str {
    match kind {
        Type::Object => "object",
        Type::Array => "array",
        Type::String => "string",
        Type::Integer => "integer",
        Type::Number => "number",
        Type::Boolean => "boolean",
        Type::Any | Type::IntOrString | Type::Quantity => "",
    }
}
