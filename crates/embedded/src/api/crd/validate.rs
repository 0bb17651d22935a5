//! Whether a definition of custom resources is allowed.

use serde_json::{Map, Value, json};

use super::{
    super::{
        fault::{Faults, Path},
        json_path::JsonPath,
        object,
        structural::cel::Rules,
        valid,
    },
    defaults, field_path, keywords,
    kind::tree_of,
    limits::{self, Patterns},
    structural,
};

/// Fills in what a definition leaves out.
pub fn default(crd: &mut Value) {
    let Some(spec) = object::child(crd, "spec") else { return };
    let conversion = spec.entry("conversion").or_insert_with(|| Value::Object(Map::new()));
    if conversion["strategy"].as_str().unwrap_or_default().is_empty() && conversion.is_object() {
        conversion["strategy"] = "None".into();
    }
    let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) else { return };
    let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    for (field, value) in [("singular", kind.to_lowercase()), ("listKind", format!("{kind}List"))] {
        let given = names.get(field).and_then(Value::as_str).unwrap_or_default();
        if given.is_empty() && !kind.is_empty() {
            names.insert(field.to_owned(), value.into());
        }
    }
}

/// Names what is wrong with a definition, on update also beside what it was. Its metadata are checked with
/// everybody's, but for the name.
pub fn validate(new: &Value, old: Option<&Value>, faults: &mut Faults) {
    if !limits::check(new, faults) {
        return;
    }
    name(new, faults);
    spec(&new["spec"], faults);
    stored_versions(new, faults);
    approval(new, old, faults);
    if let Some(old) = old {
        validate_change(new, old, faults);
    }
}

/// Names what may not change.
pub fn validate_change(new: &Value, old: &Value, faults: &mut Faults) {
    let path = Path::new("spec");
    let (new_spec, old_spec) = (&new["spec"], &old["spec"]);
    let established = object::items(old, "/status/conditions")
        .iter()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True");
    if established {
        valid::immutable(&new_spec["scope"], &old_spec["scope"], &path.child("scope"), faults);
        let kind = path.child("names").child("kind");
        valid::immutable(&new_spec["names"]["kind"], &old_spec["names"]["kind"], &kind, faults);
    }
    valid::immutable(&new_spec["group"], &old_spec["group"], &path.child("group"), faults);
    let plural = path.child("names").child("plural");
    valid::immutable(&new_spec["names"]["plural"], &old_spec["names"]["plural"], &plural, faults);
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn name(crd: &Value, faults: &mut Faults) {
    let spec = &crd["spec"];
    let wanted = format!("{}.{}", text(&spec["names"], "plural"), text(spec, "group"));
    if object::name(crd) != wanted {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        faults.invalid(&Path::new("metadata.name"), &crd["metadata"]["name"], detail);
    }
}

fn spec(spec: &Value, faults: &mut Faults) {
    let path = Path::new("spec");
    let group = text(spec, "group");
    if group.is_empty() {
        faults.required(&path.child("group"), "");
    } else if let Some(fault) = valid::dns_subdomain(group) {
        faults.invalid_text(&path.child("group"), group, fault);
    } else if !group.contains('.') {
        faults.invalid_text(&path.child("group"), group, "should be a domain with at least one dot");
    }
    match text(spec, "scope") {
        "" => faults.required(&path.child("scope"), ""),
        "Cluster" | "Namespaced" => {}
        other => faults.not_supported(&path.child("scope"), &other.into(), &["Cluster", "Namespaced"]),
    }
    if spec["preserveUnknownFields"] == true {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                      spec.versions[*].schema instead";
        faults.invalid(&path.child("preserveUnknownFields"), &json!(true), detail);
    }
    let list = spec["versions"].as_array().map_or(&[][..], Vec::as_slice);
    versions(list, &path, faults);
    names(&spec["names"], &path.child("names"), faults);
    conversion(&spec["conversion"], &path.child("conversion"), faults);
}

fn versions(versions: &[Value], path: &Path, faults: &mut Faults) {
    let at = path.child("versions");
    let mut patterns = Patterns::default();
    for (index, version) in versions.iter().enumerate() {
        let path = at.index(index);
        if let Some(fault) = valid::dns_1035_label(text(version, "name")) {
            faults.invalid(&path.child("name"), &version["name"], fault);
        }
        if !version["schema"]["openAPIV3Schema"].is_object() {
            faults.required(&path.child("schema").child("openAPIV3Schema"), "");
        }
        deprecation(version, &path.child("deprecationWarning"), faults);
    }
    // Upstream keeps in one place what all versions share, and names it there.
    each(versions, "schema", path.child("validation"), &at, |version, path| {
        let status = version["subresources"]["status"].is_object();
        schema(
            &version["schema"]["openAPIV3Schema"],
            status,
            &path.child("openAPIV3Schema"),
            &mut patterns,
            faults,
        );
    });
    each(versions, "subresources", path.child("subresources"), &at, |version, path| {
        scale(&version["subresources"]["scale"], path, faults);
    });
    each(
        versions,
        "additionalPrinterColumns",
        path.child("additionalPrinterColumns"),
        &at,
        |version, path| {
            for (index, column) in object::items(version, "/additionalPrinterColumns").iter().enumerate() {
                printer_column(column, &path.index(index), faults);
            }
        },
    );
    each(versions, "selectableFields", path.child("selectableFields"), &at, |version, path| {
        selectable_fields(version, path, faults);
    });
    let unique = |(index, version): (usize, &Value)| {
        !versions[..index].iter().any(|other| other["name"] == version["name"])
    };
    if !versions.iter().enumerate().all(unique) {
        faults.invalid(&at, &names_of(versions), "must contain unique version names");
    }
    if versions.iter().filter(|version| version["storage"] == true).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        faults.invalid(&at, &names_of(versions), detail);
    }
}

/// Calls once if all versions have the same value in a field, else for each that has one.
fn each(versions: &[Value], field: &str, shared: Path, at: &Path, mut check: impl FnMut(&Value, &Path)) {
    let same = |version: &Value| !version[field].is_null() && version[field] == versions[0][field];
    if !versions.is_empty() && versions.iter().all(same) {
        return check(&versions[0], &shared);
    }
    for (index, version) in versions.iter().enumerate().filter(|(_, version)| !version[field].is_null()) {
        check(version, &at.index(index).child(field));
    }
}

/// Versions with their schemas would fill pages.
fn names_of(versions: &[Value]) -> Value {
    versions.iter().map(|version| version["name"].clone()).collect()
}

fn deprecation(version: &Value, path: &Path, faults: &mut Faults) {
    let Some(warning) = version["deprecationWarning"].as_str() else { return };
    let mut wrong = |detail: &str| faults.invalid_text(path, warning, detail);
    if version["deprecated"] != true {
        return wrong("can only be set for deprecated versions");
    }
    if warning.is_empty() {
        wrong("must not be an empty string");
    }
    if warning.len() > 256 {
        wrong("must be <= 256 characters long");
    }
    if let Some((index, _)) = warning.char_indices().find(|(_, c)| c.is_control()) {
        wrong(&format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {index}"
        ));
    }
}

fn schema(schema: &Value, status: bool, path: &Path, patterns: &mut Patterns, faults: &mut Faults) {
    if !schema.is_object() {
        return;
    }
    let before = faults.len();
    if status {
        root_with_status(schema, path, faults);
    }
    structural::check(schema, path, patterns, faults);
    let is_structural = faults.len() == before;
    keywords::check(schema, path, &keywords::Context::root(), faults);
    if !is_structural {
        return;
    }
    let tree = tree_of(schema);
    let Some(root) = tree.root() else { return };
    let rules = if faults.len() == before { Rules::compile(root, path, faults) } else { Rules::default() };
    defaults::check(root, path, &rules, faults);
}

/// With a status of its own, only some words are allowed at the root: the others would not reach the status.
fn root_with_status(schema: &Value, path: &Path, faults: &mut Faults) {
    const ALLOWED: [&str; 22] = [
        "description",
        "type",
        "format",
        "title",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "maxLength",
        "minLength",
        "pattern",
        "maxItems",
        "minItems",
        "uniqueItems",
        "multipleOf",
        "required",
        "items",
        "properties",
        "externalDocs",
        "example",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-validations",
    ];
    let other = schema.as_object().into_iter().flatten().find(|(word, _)| !ALLOWED.contains(&word.as_str()));
    if let Some((word, value)) = other {
        let detail = format!(
            "only {ALLOWED:?} fields are allowed at the root of the schema if the status subresource is enabled"
        );
        faults.invalid(path, &json!({ word: value }), detail);
    }
}

fn scale(scale: &Value, path: &Path, faults: &mut Faults) {
    if !scale.is_object() {
        return;
    }
    let required = [("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")];
    for (field, prefix) in required {
        let (at, value) = (path.child("scale").child(field), text(scale, field));
        if value.is_empty() {
            faults.required(&at, "");
        } else if simple_path(value, &at, faults) && !value.starts_with(prefix) {
            let parent = prefix.trim_end_matches('.');
            faults.invalid_text(&at, value, format!("should be a json path under {parent}"));
        }
    }
    let (at, value) = (path.child("scale").child("labelSelectorPath"), text(scale, "labelSelectorPath"));
    let is_below = value.starts_with(".spec.") || value.starts_with(".status.");
    if !value.is_empty() && simple_path(value, &at, faults) && !is_below {
        faults.invalid_text(&at, value, "should be a json path under either .spec or .status");
    }
}

/// A path of fields alone, which is what reading and writing a scale needs.
fn simple_path(path: &str, at: &Path, faults: &mut Faults) -> bool {
    let parsed = JsonPath::parse(path);
    let detail = match (&parsed, path.starts_with('.')) {
        (_, false) => "must be a simple json path starting with .".to_owned(),
        (Err(error), _) => error.clone(),
        (Ok(path), _) if path.fields().is_none() => "must be a json path in the dot notation".to_owned(),
        _ => return true,
    };
    faults.invalid_text(at, path, detail);
    false
}

fn printer_column(column: &Value, path: &Path, faults: &mut Faults) {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 9] =
        ["byte", "date", "date-time", "double", "float", "int32", "int64", "name", "password"];
    if text(column, "name").is_empty() {
        faults.required(&path.child("name"), "");
    }
    let words = |words: &[&str]| format!("must be one of {}", words.join(","));
    match text(column, "type") {
        "" => faults.required(&path.child("type"), words(&TYPES)),
        kind if !TYPES.contains(&kind) => faults.invalid_text(&path.child("type"), kind, words(&TYPES)),
        _ => {}
    }
    let format = text(column, "format");
    if !format.is_empty() && !FORMATS.contains(&format) {
        faults.invalid_text(&path.child("format"), format, words(&FORMATS));
    }
    match text(column, "jsonPath") {
        "" => faults.required(&path.child("JSONPath"), ""),
        given if !given.starts_with('.') => {
            let detail = "must be a simple json path starting with .";
            faults.invalid_text(&path.child("JSONPath"), given, detail);
        }
        _ => {}
    }
}

fn selectable_fields(version: &Value, path: &Path, faults: &mut Faults) {
    const MAX: u64 = 8;
    let schema = &version["schema"]["openAPIV3Schema"];
    let listed = object::items(version, "/selectableFields");
    if listed.len() > 100 {
        return faults.too_many(path, listed.len() as u64, MAX);
    }
    let mut seen = Vec::new();
    for (index, field) in listed.iter().enumerate() {
        let (at, given) = (path.index(index).child("jsonPath"), text(field, "jsonPath"));
        if given.is_empty() {
            faults.required(&at, "");
            continue;
        }
        let found = match field_path::find(schema, given, false) {
            Ok(found) => found,
            Err(error) => {
                faults.invalid_text(&at, given, format!("is an invalid path: {error}"));
                continue;
            }
        };
        if given.starts_with(".metadata") {
            faults.invalid_text(&at, given, "must not point to fields in metadata");
        }
        if !["string", "boolean", "integer"].contains(&text(found, "type")) {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings \
                          with formats are allowed.";
            faults.invalid_text(&at, given, detail);
        }
        if seen.contains(&given) {
            faults.duplicate(&at, &given.into());
        } else {
            seen.push(given);
        }
    }
    if seen.len() as u64 > MAX {
        faults.too_many(path, seen.len() as u64, MAX);
    }
}

fn names(names: &Value, path: &Path, faults: &mut Faults) {
    for field in ["plural", "singular", "kind", "listKind"] {
        let (at, name) = (path.child(field), text(names, field));
        let mixed_case = field.to_lowercase().ends_with("kind");
        if name.is_empty() {
            faults.required(&at, "");
        } else if mixed_case {
            if let Some(fault) = valid::dns_1035_label(&name.to_lowercase()) {
                let detail = format!("may have mixed case, but should otherwise match: {fault}");
                faults.invalid_text(&at, name, detail);
            }
        } else if let Some(fault) = valid::dns_1035_label(name) {
            faults.invalid_text(&at, name, fault);
        }
    }
    if !text(names, "kind").is_empty() && names["kind"] == names["listKind"] {
        let at = path.child("listKind");
        faults.invalid(&at, &names["listKind"], "kind and listKind may not be the same");
    }
    for field in ["shortNames", "categories"] {
        for (index, name) in names[field].as_array().into_iter().flatten().enumerate() {
            if let Some(fault) = valid::dns_1035_label(name.as_str().unwrap_or_default()) {
                faults.invalid(&path.child(field).index(index), name, fault);
            }
        }
    }
}

fn conversion(conversion: &Value, path: &Path, faults: &mut Faults) {
    let at = path.child("strategy");
    match text(conversion, "strategy") {
        "None" => {
            if !conversion["webhook"].is_null() {
                let detail = "should not be set when strategy is not set to Webhook";
                faults.forbidden(&path.child("webhook"), detail);
            }
        }
        "" => faults.required(&at, ""),
        "Webhook" => faults.forbidden(&at, "conversion by webhook is not served here: use None"),
        other => faults.not_supported(&at, &other.into(), &["None", "Webhook"]),
    }
}

fn stored_versions(crd: &Value, faults: &mut Faults) {
    let path = Path::new("status.storedVersions");
    let stored = object::items(crd, "/status/storedVersions");
    let versions = object::items(crd, "/spec/versions");
    if stored.is_empty() {
        faults.invalid(&path, &json!([]), "must have at least one stored version");
        return;
    }
    for version in versions.iter().filter(|version| version["storage"] == true) {
        if !stored.contains(&version["name"]) {
            let detail = format!("must have the storage version {}", text(version, "name"));
            faults.invalid(&path, &json!(stored), detail);
        }
    }
    for (index, name) in stored.iter().enumerate() {
        if !versions.iter().any(|version| version["name"] == *name) {
            let name_text = name.as_str().unwrap_or_default();
            let detail = format!(
                "missing from spec.versions; {name_text} was previously a storage version, and must remain in \
                 spec.versions until a storage migration ensures no data remains persisted in {name_text} and removes \
                 {name_text} from status.storedVersions"
            );
            faults.invalid(&path.index(index), name, detail);
        }
    }
}

/// Kubernetes' own groups are not for everybody.
fn approval(new: &Value, old: Option<&Value>, faults: &mut Faults) {
    const ANNOTATION: &str = "api-approved.kubernetes.io";
    let group = text(&new["spec"], "group");
    let is_protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
    let approval = |crd: &Value| crd["metadata"]["annotations"][ANNOTATION].clone();
    if !is_protected || old.is_some_and(|old| approval(old) == approval(new)) {
        return;
    }
    let path = Path::new("metadata.annotations").key(ANNOTATION);
    let given = approval(new);
    match given.as_str().unwrap_or_default() {
        "" => faults.required(
            &path,
            "protected groups must have approval annotation \"api-approved.kubernetes.io\", see \
             https://github.com/kubernetes/enhancements/pull/1111",
        ),
        text if text.starts_with("unapproved") || text.contains("://") => {}
        _ => faults.invalid(
            &path,
            &given,
            "protected groups must have approval annotation \"api-approved.kubernetes.io\" with either a URL or a \
             reason starting with \"unapproved\", see https://github.com/kubernetes/enhancements/pull/1111",
        ),
    }
}

#[cfg(test)]
mod tests;
