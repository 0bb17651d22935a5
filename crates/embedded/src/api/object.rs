//! Reading and writing the parts of an object that every kind has.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use super::behaviour::Part;

/// `metadata.<field>` as a text, empty if it is not there.
pub fn meta<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

pub fn name(object: &Value) -> &str {
    meta(object, "name")
}

pub fn namespace(object: &Value) -> &str {
    meta(object, "namespace")
}

/// A text at a path such as `/spec/nodeName`, empty if it is not there.
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The items of a list at a path such as `/spec/ports`, none if it is not there.
pub fn items<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A child object, made if it is not there. `None` if there is something else in its place.
pub fn child<'a>(object: &'a mut Value, field: &str) -> Option<&'a mut Map<String, Value>> {
    object.as_object_mut()?.entry(field).or_insert_with(|| Value::Object(Map::new())).as_object_mut()
}

/// Sets a field of an object unless it is there.
pub fn default(object: &mut Value, field: &str, value: impl Into<Value>) {
    if let Some(fields) = object.as_object_mut() {
        fields.entry(field).or_insert_with(|| value.into());
    }
}

/// Sets a field of an object unless it has a value: an empty text and a zero count as none, as they do for
/// Kubernetes, which does not write them.
pub fn fill(object: &mut Value, field: &str, value: impl Into<Value>) {
    if let Some(fields) = object.as_object_mut()
        && fields.get(field).is_none_or(is_empty)
    {
        fields.insert(field.to_owned(), value.into());
    }
}

/// Writes numbers as Go does, which has no `1.0` in JSON: a client may read what is whole into an integer.
pub fn settle_numbers(value: &mut Value) {
    /// Up to here every whole number is written with all its digits, and fits.
    const LARGEST: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap_or_default();
            if float.fract() == 0.0 && float.abs() <= LARGEST {
                *value = (float as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(settle_numbers),
        Value::Object(fields) => fields.values_mut().for_each(settle_numbers),
        _ => {}
    }
}

/// Whether a value is one that Kubernetes would leave out: null, false, zero, an empty text, list or map.
pub fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// Undoes what a write to one part changed in the other. Metadata count for both; a write to the status
/// changes none of them.
pub fn keep_other_part(new: &mut Value, old: &Value, part: Part) {
    let (Some(fields), Some(kept)) = (new.as_object_mut(), old.as_object()) else { return };
    match part {
        Part::Main => restore(fields, kept, "status"),
        Part::Status => {
            let status = fields.remove("status");
            let managed = fields
                .get_mut("metadata")
                .and_then(|metadata| metadata.as_object_mut()?.remove("managedFields"));
            *fields = kept.clone();
            fields.remove("status");
            if let Some(status) = status {
                fields.insert("status".to_owned(), status);
            }
            if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("managedFields");
                if let Some(managed) = managed {
                    metadata.insert("managedFields".to_owned(), managed);
                }
            }
        }
    }
}

/// Undoes what a write to the status changed in the rest, for kinds whose status writes may also change labels,
/// annotations and finalizers: most of the core group. What belongs to the server stays its own.
pub fn keep_spec(new: &mut Value, old: &Value) {
    const SYSTEM: [&str; 6] = [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "generateName",
    ];
    let (Some(fields), Some(kept)) = (new.as_object_mut(), old.as_object()) else { return };
    restore(fields, kept, "spec");
    if let (Some(Value::Object(metadata)), Some(Value::Object(kept))) =
        (fields.get_mut("metadata"), kept.get("metadata"))
    {
        for field in SYSTEM {
            restore(metadata, kept, field);
        }
    }
}

/// Makes a field what it was.
pub fn restore(fields: &mut Map<String, Value>, old: &Map<String, Value>, field: &str) {
    match old.get(field) {
        Some(value) => fields.insert(field.to_owned(), value.clone()),
        None => fields.remove(field),
    };
}

/// A moment as Kubernetes writes it: whole seconds.
pub fn timestamp(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The time since creation as a table shows it.
pub fn age(object: &Value, now: Timestamp) -> String {
    since(meta(object, "creationTimestamp"), now)
}

/// The time since a moment as a table shows it, `<unknown>` if there is none.
pub fn since(moment: &str, now: Timestamp) -> String {
    match moment.parse::<Timestamp>() {
        Ok(moment) => human_duration(now.duration_since(moment)),
        Err(_) => "<unknown>".to_owned(),
    }
}

/// `5s`, `3m12s`, `4h5m`, `2d3h`, `40d`: two units at most, and one where the second says little.
pub fn human_duration(duration: SignedDuration) -> String {
    let seconds = duration.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    let two = |large: i64, unit: &str, small: i64, small_unit: &str| match small {
        0 => format!("{large}{unit}"),
        small => format!("{large}{unit}{small}{small_unit}"),
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => two(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}
