//! The forms that names, labels and the like must have, and what every kind's metadata must be.
//!
//! Each check tells what is wrong in Kubernetes' own words; `None` is fine.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

use super::{
    behaviour::Names,
    fault::{Faults, Path},
};

static LABEL: LazyLock<Regex> = LazyLock::new(|| pattern("[a-z0-9]([-a-z0-9]*[a-z0-9])?"));
static LABEL_1035: LazyLock<Regex> = LazyLock::new(|| pattern("[a-z]([-a-z0-9]*[a-z0-9])?"));
static SUBDOMAIN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"));
static QUALIFIED: LazyLock<Regex> = LazyLock::new(|| pattern("([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"));
static LABEL_VALUE: LazyLock<Regex> =
    LazyLock::new(|| pattern("(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"));
static CONFIG_KEY: LazyLock<Regex> = LazyLock::new(|| pattern("[-._a-zA-Z0-9]+"));

fn pattern(pattern: &str) -> Regex {
    Regex::new(&format!("^(?:{pattern})$")).expect("a pattern of ours must be valid")
}

/// RFC 1123 label: `web-1`.
pub fn dns_label(text: &str) -> Option<String> {
    long(text, 63).or_else(|| {
        if SUBDOMAIN.is_match(text) && text.contains('.') {
            return Some("must not contain dots".to_owned());
        }
        (!LABEL.is_match(text)).then(|| {
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
             and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
                .to_owned()
        })
    })
}

/// RFC 1035 label: a label that begins with a letter.
pub fn dns_1035_label(text: &str) -> Option<String> {
    long(text, 63).or_else(|| {
        (!LABEL_1035.is_match(text)).then(|| {
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
             validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
                .to_owned()
        })
    })
}

/// RFC 1123 subdomain: labels with dots between them.
pub fn dns_subdomain(text: &str) -> Option<String> {
    long(text, 253).or_else(|| {
        (!SUBDOMAIN.is_match(text)).then(|| {
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .to_owned()
        })
    })
}

/// What can stand in a path.
pub fn path_segment(text: &str) -> Option<String> {
    match text {
        "." | ".." => Some(format!("may not be '{text}'")),
        text => {
            let wrong = ['/', '%'].into_iter().find(|character| text.contains(*character));
            wrong.map(|character| format!("may not contain '{character}'"))
        }
    }
}

/// A label's key: a name, perhaps with a domain before it.
pub fn qualified_name(text: &str) -> Option<String> {
    let (prefix, name) = match text.split_once('/') {
        Some((_, name)) if name.contains('/') => {
            return Some(
                "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
                 with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                 validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and \
                 '/' (e.g. 'example.com/MyName')"
                    .to_owned(),
            );
        }
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    match prefix {
        Some("") => return Some("prefix part must be non-empty".to_owned()),
        Some(prefix) => {
            if let Some(fault) = dns_subdomain(prefix) {
                return Some(format!("prefix part {fault}"));
            }
        }
        None => {}
    }
    if name.is_empty() {
        return Some("name part must be non-empty".to_owned());
    }
    long(name, 63).map(|fault| format!("name part {fault}")).or_else(|| {
        (!QUALIFIED.is_match(name)).then(|| {
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
             alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
             '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                .to_owned()
        })
    })
}

/// A label's value; may be empty.
pub fn label_value(text: &str) -> Option<String> {
    long(text, 63).or_else(|| {
        (!LABEL_VALUE.is_match(text)).then(|| {
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used \
             for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
                .to_owned()
        })
    })
}

/// A key of a ConfigMap or Secret: a file name.
pub fn config_key(text: &str) -> Option<String> {
    long(text, 253).or_else(|| {
        if !CONFIG_KEY.is_match(text) {
            Some(
                "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
                 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
                    .to_owned(),
            )
        } else {
            match text {
                "." | ".." => Some(format!("must not be '{text}'")),
                text if text.starts_with("..") => Some("must not start with '..'".to_owned()),
                _ => None,
            }
        }
    })
}

/// A name as a kind wants it.
pub fn name(names: Names, text: &str) -> Option<String> {
    match names {
        Names::Subdomain => dns_subdomain(text),
        Names::Label => dns_label(text),
        Names::Label1035 => dns_1035_label(text),
        Names::PathSegment => path_segment(text),
    }
}

/// A map of labels.
pub fn labels(labels: &Value, path: &Path, faults: &mut Faults) {
    for (key, value) in labels.as_object().into_iter().flatten() {
        if let Some(fault) = qualified_name(key) {
            faults.invalid_text(path, key, fault);
        }
        if let Some(fault) = value.as_str().and_then(label_value) {
            faults.invalid(path, value, fault);
        }
    }
}

/// A label selector as specs have it: `matchLabels` and `matchExpressions`.
pub fn label_selector(selector: &Value, path: &Path, faults: &mut Faults) {
    labels(&selector["matchLabels"], &path.child("matchLabels"), faults);
    let expressions = selector["matchExpressions"].as_array();
    for (index, expression) in expressions.into_iter().flatten().enumerate() {
        let path = path.child("matchExpressions").index(index);
        let values = expression["values"].as_array().map_or(0, Vec::len);
        match expression["operator"].as_str().unwrap_or_default() {
            "In" | "NotIn" if values == 0 => {
                faults
                    .required(&path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'");
            }
            "Exists" | "DoesNotExist" if values > 0 => {
                faults.forbidden(
                    &path.child("values"),
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                );
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => faults.invalid(
                &path.child("operator"),
                &expression["operator"],
                "not a valid selector operator",
            ),
        }
        let key = expression["key"].as_str().unwrap_or_default();
        if let Some(fault) = qualified_name(key) {
            faults.invalid_text(&path.child("key"), key, fault);
        }
        for (index, value) in expression["values"].as_array().into_iter().flatten().enumerate() {
            if let Some(fault) = value.as_str().and_then(label_value) {
                faults.invalid(&path.child("values").index(index), value, fault);
            }
        }
    }
}

/// An integer that must not be negative.
pub fn not_negative(value: &Value, path: &Path, faults: &mut Faults) {
    if value.as_i64().is_some_and(|number| number < 0) {
        faults.invalid(path, value, "must be greater than or equal to 0");
    }
}

/// A text that must be one of these; absent is fine.
pub fn one_of(value: &Value, allowed: &[&str], path: &Path, faults: &mut Faults) {
    if value.as_str().is_some_and(|text| !allowed.contains(&text)) {
        faults.not_supported(path, value, allowed);
    }
}

/// A field that may not change once it is set.
pub fn immutable(new: &Value, old: &Value, path: &Path, faults: &mut Faults) {
    if new != old {
        faults.invalid(path, new, "field is immutable");
    }
}

/// A port number.
pub fn port(value: &Value, path: &Path, faults: &mut Faults) {
    if value.as_i64().is_some_and(|port| !(1..=65535).contains(&port)) {
        faults.invalid(path, value, "must be between 1 and 65535, inclusive");
    }
}

fn long(text: &str, max: usize) -> Option<String> {
    (text.len() > max).then(|| format!("must be no more than {max} bytes"))
}

/// The metadata of any object at creation, its name and namespace included.
pub fn metadata(object: &Value, names: Names, namespaced: bool, faults: &mut Faults) {
    let (metadata, path) = (&object["metadata"], Path::new("metadata"));
    let text = |field: &str| metadata[field].as_str().unwrap_or_default();
    if text("name").is_empty() {
        faults.required(&path.child("name"), "name or generateName is required");
    } else if let Some(fault) = name(names, text("name")) {
        faults.invalid(&path.child("name"), &metadata["name"], fault);
    }
    match (namespaced, text("namespace")) {
        (true, "") => faults.required(&path.child("namespace"), ""),
        (true, namespace) => {
            if let Some(fault) = dns_label(namespace) {
                faults.invalid(&path.child("namespace"), &metadata["namespace"], fault);
            }
        }
        (false, "") => {}
        (false, _) => faults.forbidden(&path.child("namespace"), "not allowed on this type"),
    }
    labels(&metadata["labels"], &path.child("labels"), faults);
    annotations(&metadata["annotations"], &path.child("annotations"), faults);
    owners(&metadata["ownerReferences"], &path.child("ownerReferences"), faults);
    for finalizer in metadata["finalizers"].as_array().into_iter().flatten() {
        if let Some(fault) = finalizer.as_str().and_then(qualified_name) {
            faults.invalid(&path.child("finalizers"), finalizer, fault);
        }
    }
    let has = |wanted: &str| metadata["finalizers"].as_array().into_iter().flatten().any(|f| f == wanted);
    if has(super::metadata::ORPHAN) && has(super::metadata::FOREGROUND) {
        let why = "finalizers orphan and foregroundDeletion cannot be both set";
        faults.invalid(&path.child("finalizers"), &metadata["finalizers"], why);
    }
}

fn annotations(annotations: &Value, path: &Path, faults: &mut Faults) {
    const MAX: usize = 256 * 1024;
    let mut size = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        // Keys compare without regard to case, so the check is made on the lower one.
        if let Some(fault) = qualified_name(&key.to_lowercase()) {
            faults.invalid_text(path, key, fault);
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > MAX {
        faults.too_long(path, MAX as u64);
    }
}

fn owners(owners: &Value, path: &Path, faults: &mut Faults) {
    let mut controller: Option<&Value> = None;
    for (index, owner) in owners.as_array().into_iter().flatten().enumerate() {
        let path = path.index(index);
        let version = match owner["apiVersion"].as_str().unwrap_or_default().split_once('/') {
            None => owner["apiVersion"].as_str().unwrap_or_default(),
            Some((_, version)) if !version.contains('/') => version,
            Some(_) => "",
        };
        if version.is_empty() {
            faults.invalid(&path.child("apiVersion"), &owner["apiVersion"], "version must not be empty");
        }
        for field in ["kind", "name", "uid"] {
            if owner[field].as_str().unwrap_or_default().is_empty() {
                faults.invalid(&path.child(field), &json!(""), format!("{field} must not be empty"));
            }
        }
        if owner["apiVersion"] == "v1" && owner["kind"] == "Event" {
            faults.invalid(&path, owner, "/v1, Kind=Event is disallowed from being an owner");
        }
        if owner["controller"] == true {
            if let Some(first) = controller {
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {} and {}",
                    first["name"].as_str().unwrap_or_default(),
                    owner["name"].as_str().unwrap_or_default()
                );
                faults.invalid(&path, owner, detail);
            }
            controller = Some(owner);
        }
    }
}
