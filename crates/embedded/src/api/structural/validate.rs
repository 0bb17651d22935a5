//! Whether a custom resource is what its schema asks for, in the words of upstream's validator.
//!
//! What has not changed since the object was last written is not judged again: a schema may have become
//! stricter, and whoever changes one field need not repair all others.

use serde_json::Value;

use super::{
    super::fault::{Fault, Faults, Path},
    cel::Rules,
    embedded, formats,
    lists::{self, OldItems},
    place::Place,
};
use crate::schema::{Schema, Type};

/// More faults than anybody reads. A hostile object could have one per item.
const MAX_FAULTS: usize = 500;

/// Schemas visited for one object. Far more than any honest pair of schema and object needs; a schema with
/// thousands of alternatives for the items of a huge list reaches it.
const MAX_STEPS: u32 = 5_000_000;

const TOO_LONG: &str = "takes too long to check: there are too many alternatives for too many items";

/// Judges an object, on update beside what it was.
pub fn validate(schema: Schema<'_>, value: &Value, old: Option<&Value>, rules: &Rules, faults: &mut Faults) {
    let mut validator = Validator { faults: Faults::default(), left: MAX_STEPS };
    validator.check(schema, value, old, Place::Root);
    if validator.left == 0 {
        validator.faults.invalid(&Path::root(), &Value::Null, TOO_LONG);
    }
    let mut found = validator.faults;
    let mut before = Faults::default();
    if let Some(old) = old {
        lists::duplicates(schema, old, Place::Root, &mut before);
    }
    if before.is_empty() {
        lists::duplicates(schema, value, Place::Root, &mut found);
    }
    embedded::resources(schema, value, Place::Root, &mut found);
    if rules.is_empty() {
        // Nothing was left out.
    } else if found.iter().any(is_blocking) {
        found.invalid(
            &Path::root(),
            &Value::Null,
            "some validation rules were not checked because the object was invalid; correct the existing errors \
             to complete validation",
        );
    } else {
        rules.check(schema, value, old, &mut found);
    }
    faults.extend(found);
}

/// The faults of one schema alone, without rules: for defaults.
pub fn check(schema: Schema<'_>, value: &Value) -> Faults {
    let mut validator = Validator { faults: Faults::default(), left: MAX_STEPS };
    validator.check(schema, value, None, Place::Root);
    if validator.left == 0 {
        validator.faults.invalid(&Path::root(), &Value::Null, TOO_LONG);
    }
    validator.faults
}

/// Rules are not run on what they may not be able to read, or to finish.
fn is_blocking(fault: &Fault) -> bool {
    ["FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"]
        .contains(&fault.reason)
}

struct Validator {
    faults: Faults,
    /// Schemas that may still be visited.
    left: u32,
}

impl Validator {
    fn check(&mut self, schema: Schema<'_>, value: &Value, old: Option<&Value>, place: Place<'_>) {
        self.left = self.left.saturating_sub(1);
        if self.faults.len() >= MAX_FAULTS || self.left == 0 || old == Some(value) {
            return;
        }
        if value.is_null() && schema.nullable {
            return;
        }
        if !has_type(schema.kind, value) {
            let (wanted, got) = (type_name(schema.kind), kind_of(value));
            let detail = format!("{} in body must be of type {wanted}: {got:?}", place.dotted());
            self.faults.wrong_type(&place.path(), &got.into(), detail);
            return;
        }
        self.enumeration(schema, value, place);
        match value {
            Value::Number(_) => self.number(schema, value, place),
            Value::String(text) => self.text(schema, text, place),
            Value::Array(items) => self.list(schema, items, old, place),
            Value::Object(_) => self.object(schema, value, old, place),
            _ => {}
        }
        self.junctions(schema, value, place);
    }

    fn enumeration(&mut self, schema: Schema<'_>, value: &Value, place: Place<'_>) {
        if schema.enumeration.is_empty() || schema.enumeration.iter().any(|allowed| same(allowed, value)) {
            return;
        }
        let texts: Vec<String> = schema
            .enumeration
            .iter()
            .map(|allowed| match allowed {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            })
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        self.faults.not_supported(&place.path(), value, &texts);
    }

    fn number(&mut self, schema: Schema<'_>, value: &Value, place: Place<'_>) {
        let (bounds, number) = (&schema.bounds, value.as_f64().unwrap_or_default());
        if !fits(schema, value) {
            let format = schema.format.as_deref().unwrap_or_default();
            let kind = type_name(schema.kind);
            let detail =
                format!("Checked value must be of type {kind} with format {format} in {}", place.dotted());
            self.faults.invalid_text(&Path::root(), "", detail);
        }
        if let Some(minimum) = bounds.minimum {
            let (below, words) = match bounds.exclusive_minimum {
                true => (number <= minimum, "greater than"),
                false => (number < minimum, "greater than or equal to"),
            };
            self.require(!below, value, place, || format!("should be {words} {}", shown(minimum)));
        }
        if let Some(maximum) = bounds.maximum {
            let (above, words) = match bounds.exclusive_maximum {
                true => (number >= maximum, "less than"),
                false => (number > maximum, "less than or equal to"),
            };
            self.require(!above, value, place, || format!("should be {words} {}", shown(maximum)));
        }
        if let Some(step) = bounds.multiple_of.filter(|step| *step > 0.0) {
            let quotient = number / step;
            let whole = (quotient - quotient.round()).abs() < 1e-9;
            self.require(whole, value, place, || format!("should be a multiple of {}", shown(step)));
        }
    }

    fn text(&mut self, schema: Schema<'_>, text: &str, place: Place<'_>) {
        let bounds = &schema.bounds;
        let value = || Value::from(text);
        if bounds.max_length.is_some() || bounds.min_length.is_some() {
            let length = text.chars().count() as u64;
            if let Some(max) = bounds.max_length.filter(|max| length > *max) {
                self.faults.too_long(&place.path(), max);
            }
            if let Some(min) = bounds.min_length {
                self.require(length >= min, &value(), place, || {
                    format!("should be at least {min} chars long")
                });
            }
        }
        if let Some(pattern) = &bounds.pattern {
            self.require(pattern.is_match(text), &value(), place, || {
                format!("should match '{}'", pattern.as_str())
            });
        }
        if let Some(format) = schema.format.as_deref().filter(|format| !formats::has_format(format, text)) {
            let detail = format!("{} in body must be of type {format}: {text:?}", place.dotted());
            self.faults.wrong_type(&place.path(), &value(), detail);
        }
    }

    fn list(&mut self, schema: Schema<'_>, items: &[Value], old: Option<&Value>, place: Place<'_>) {
        let count = items.len() as u64;
        if let Some(max) = schema.bounds.max_items.filter(|max| count > *max) {
            self.faults.too_many(&place.path(), count, max);
        }
        if let Some(min) = schema.bounds.min_items {
            self.require(count >= min, &count.into(), place, || format!("should have at least {min} items"));
        }
        let Some(item_schema) = schema.items() else { return };
        let before = OldItems::new(schema, old);
        for (index, item) in items.iter().enumerate() {
            self.check(item_schema, item, before.of(item), Place::Item(&place, index));
        }
    }

    fn object(&mut self, schema: Schema<'_>, value: &Value, old: Option<&Value>, place: Place<'_>) {
        let Value::Object(fields) = value else { return };
        let count = fields.len() as u64;
        if let Some(max) = schema.bounds.max_properties.filter(|max| count > *max) {
            self.faults.too_many(&place.path(), count, max);
        }
        if let Some(min) = schema.bounds.min_properties {
            self.require(count >= min, &count.into(), place, || {
                format!("should have at least {min} properties")
            });
        }
        for name in &schema.required {
            if !fields.contains_key(name) {
                self.faults.required(&Place::Field(&place, name).path(), "");
            }
        }
        for (name, value) in fields {
            if let Some(field) = schema.field(name) {
                let old = old.and_then(|old| old.get(name));
                self.check(field, value, old, Place::Field(&place, name));
            }
        }
    }

    /// `allOf`, `anyOf`, `oneOf` and `not`. Their own faults name no field; those of the alternative that came
    /// closest do.
    fn junctions(&mut self, schema: Schema<'_>, value: &Value, place: Place<'_>) {
        let before = self.faults.len();
        for branch in schema.all_of() {
            self.check(branch, value, None, place);
        }
        if self.faults.len() > before {
            self.junction(place, "must validate all the schemas (allOf)");
        }
        if schema.any_of().next().is_some() {
            let (valid, closest) = self.alternatives(schema.any_of(), value, place, true);
            if valid == 0 {
                self.junction(place, "must validate at least one schema (anyOf)");
                self.faults.extend(closest);
            }
        }
        if schema.one_of().next().is_some() {
            match self.alternatives(schema.one_of(), value, place, false) {
                (1, _) => {}
                (0, closest) => {
                    self.junction(place, "must validate one and only one schema (oneOf). Found none valid");
                    self.faults.extend(closest);
                }
                (many, _) => {
                    let words = format!(
                        "must validate one and only one schema (oneOf). Found {many} valid alternatives"
                    );
                    self.junction(place, &words);
                }
            }
        }
        if schema.negated().is_some_and(|branch| self.attempt(branch, value, place).0.is_empty()) {
            self.junction(place, "must not validate the schema (not)");
        }
    }

    /// How many alternatives a value fits, and what is wrong with it by the one that looked at most of it.
    fn alternatives<'s>(
        &mut self,
        branches: impl Iterator<Item = Schema<'s>>,
        value: &Value,
        place: Place<'_>,
        one_is_enough: bool,
    ) -> (usize, Faults) {
        let (mut valid, mut closest, mut most) = (0, Faults::default(), 0);
        for branch in branches {
            let (faults, visited) = self.attempt(branch, value, place);
            if faults.is_empty() {
                valid += 1;
                if one_is_enough {
                    break;
                }
            } else if visited > most {
                (closest, most) = (faults, visited);
            }
        }
        (valid, closest)
    }

    /// The faults by one alternative, and how many schemas it visited.
    fn attempt(&mut self, branch: Schema<'_>, value: &Value, place: Place<'_>) -> (Faults, u32) {
        let mut inner = Validator { faults: Faults::default(), left: self.left };
        inner.check(branch, value, None, place);
        let visited = self.left - inner.left;
        self.left = inner.left;
        (inner.faults, visited)
    }

    fn junction(&mut self, place: Place<'_>, words: &str) {
        self.faults.invalid_text(&Path::root(), "", format!("{:?} {words}", place.dotted()));
    }

    fn require(&mut self, holds: bool, value: &Value, place: Place<'_>, words: impl FnOnce() -> String) {
        if !holds {
            self.faults.invalid(&place.path(), value, format!("{} in body {}", place.dotted(), words()));
        }
    }
}

fn has_type(kind: Type, value: &Value) -> bool {
    match kind {
        Type::Any => true,
        Type::Object => value.is_object(),
        Type::Array => value.is_array(),
        Type::String => value.is_string(),
        Type::Integer => is_whole(value),
        Type::Number => value.is_number(),
        Type::Boolean => value.is_boolean(),
        Type::IntOrString => value.is_string() || is_whole(value),
        Type::Quantity => value.is_string() || value.is_number(),
    }
}

/// A number without a fraction is an integer, however it is written.
fn is_whole(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn fits(schema: Schema<'_>, value: &Value) -> bool {
    let number = value.as_f64().unwrap_or_default();
    match (schema.kind, schema.format.as_deref()) {
        (Type::Integer, Some("int32")) => (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number),
        (Type::Integer, _) => value.is_i64() || number.abs() < 9_223_372_036_854_775_808.0,
        (Type::Number, Some("float")) => number.abs() <= f64::from(f32::MAX),
        _ => true,
    }
}

/// Equal values, where numbers are equal however they are written.
fn same(a: &Value, b: &Value) -> bool {
    a == b || (a.is_number() && b.is_number() && a.as_f64() == b.as_f64())
}

fn type_name(kind: Type) -> &'static str {
    match kind {
        Type::Any => "any",
        Type::Object => "object",
        Type::Array => "array",
        Type::String => "string",
        Type::Integer => "integer",
        Type::Number => "number",
        Type::Boolean => "boolean",
        Type::IntOrString => "integer,string",
        Type::Quantity => "string",
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) if is_whole(value) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A bound as it was written: `5`, not `5.0`.
fn shown(bound: f64) -> String {
    bound.to_string()
}

#[cfg(test)]
mod tests;
