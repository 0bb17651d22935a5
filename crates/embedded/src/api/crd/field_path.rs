//! Which field of a schema, as its author wrote it, a path names.

use serde_json::Value;

use super::super::structural::field_path;

/// Finds the schema of the field that a path names.
pub fn find<'s>(schema: &'s Value, path: &str, brackets: bool) -> Result<&'s Value, String> {
    field_path::names(path, brackets)?.iter().try_fold(schema, |schema, name| {
        let found = match schema["properties"].as_object() {
            Some(properties) => properties.get(name),
            None => Some(&schema["additionalProperties"]).filter(|entry| entry.is_object()),
        };
        found.ok_or_else(|| "does not refer to a valid field".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::find;

    #[test]
    fn paths_name_fields_that_the_schema_has() {
        let text = json!({ "type": "string" });
        let schema = json!({ "properties": {
            "a": { "properties": { "b.c": text } }, "map": { "additionalProperties": text }
        } });
        for right in [".a['b.c']", ".map.any", ".map['any']"] {
            assert_eq!(find(&schema, right, true), Ok(&text), "{right}");
        }
        for wrong in [".nowhere", "a", ".a.", ".a[0]", ".a['b.c'", ".map.x.y", ".a['b"] {
            assert!(find(&schema, wrong, true).is_err(), "{wrong}");
        }
        assert!(find(&schema, ".map['x']", false).is_err());
    }
}
