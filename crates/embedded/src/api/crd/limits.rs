//! How large a definition may be. A schema is kept in memory for as long as it is served, several times its
//! size as text, and patterns many times theirs.

use serde_json::Value;

use super::super::fault::{Faults, Path};
use crate::schema::pattern::{self, Pattern};

/// Versions. The kinds that have lived longest have some five.
const MAX_VERSIONS: usize = 100;

/// Schemas in all versions together. The largest definitions in use have some ten thousand.
const MAX_SCHEMAS: usize = 50_000;

/// Levels of schemas. JSON bodies are bounded too; this is what their depth allows for schemas.
const MAX_DEPTH: usize = 64;

/// Bytes of all compiled patterns together.
const MAX_PATTERNS: usize = 64 << 20;

/// The patterns of a definition, which share a bound.
#[derive(Default)]
pub struct Patterns {
    spent: usize,
}

impl Patterns {
    pub fn compile(&mut self, text: &str) -> Result<Pattern, String> {
        if self.spent > MAX_PATTERNS {
            return Err("the patterns of this definition take too much memory together".to_owned());
        }
        let pattern = pattern::compile(text)?;
        self.spent += pattern.price();
        Ok(pattern)
    }
}

/// Refuses a definition that is too large to be looked at further. True if it may be.
pub fn check(crd: &Value, faults: &mut Faults) -> bool {
    let versions = crd["spec"]["versions"].as_array().map_or(&[][..], Vec::as_slice);
    if versions.len() > MAX_VERSIONS {
        faults.too_many(&Path::new("spec.versions"), versions.len() as u64, MAX_VERSIONS as u64);
        return false;
    }
    let mut count = 0;
    for (index, version) in versions.iter().enumerate() {
        let path = Path::new("spec.versions").index(index).child("schema").child("openAPIV3Schema");
        if !measure(&version["schema"]["openAPIV3Schema"], 0, &mut count) {
            let detail = format!(
                "may not have more than {MAX_SCHEMAS} schemas, or {MAX_DEPTH} of them inside each other"
            );
            faults.forbidden(&path, detail);
            return false;
        }
    }
    true
}

/// Counts objects, of which each schema is at least one.
fn measure(value: &Value, depth: usize, count: &mut usize) -> bool {
    match value {
        Value::Object(fields) => {
            *count += 1;
            // A schema inside another is two levels away: `properties`, then the name.
            depth <= 2 * MAX_DEPTH
                && *count <= MAX_SCHEMAS
                && fields.values().all(|value| measure(value, depth + 1, count))
        }
        Value::Array(items) => {
            depth <= 2 * MAX_DEPTH && items.iter().all(|value| measure(value, depth + 1, count))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Faults, MAX_PATTERNS, MAX_VERSIONS, Patterns, check};

    /// Versions are compared with each other: thousands would take minutes.
    #[test]
    fn versions_have_a_bound() {
        let crd = |count| json!({ "spec": { "versions": vec![json!({ "name": "v1" }); count] } });
        let mut faults = Faults::default();
        assert!(check(&crd(MAX_VERSIONS), &mut faults) && faults.is_empty());
        assert!(!check(&crd(MAX_VERSIONS + 1), &mut faults));
        assert_eq!(faults.iter().next().map(|fault| fault.reason), Some("FieldValueTooMany"));
    }

    #[test]
    fn patterns_share_a_bound() {
        let mut patterns = Patterns::default();
        assert!(patterns.compile("a+").is_ok() && patterns.spent > 0);
        patterns.spent = MAX_PATTERNS + 1;
        assert!(patterns.compile("a+").is_err());
    }
}
