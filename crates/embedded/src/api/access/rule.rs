//! One rule of a role: what it allows, and whether it covers another.

use serde_json::{Value, json};

use super::attributes::Attributes;
use crate::api::object;

/// A rule. Names, groups and verbs are what the role's author wrote, `*` included.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Rule {
    pub verbs: Vec<String>,
    pub groups: Vec<String>,
    /// `pods`, `pods/log`, `*/scale` or `*`.
    pub resources: Vec<String>,
    /// Empty means every name.
    pub names: Vec<String>,
    /// Paths, with `*` at the end for everything below.
    pub paths: Vec<String>,
}

impl Rule {
    pub fn of(rule: &Value) -> Self {
        let list = |field: &str| {
            let items = rule[field].as_array().into_iter().flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            verbs: list("verbs"),
            groups: list("apiGroups"),
            resources: list("resources"),
            names: list("resourceNames"),
            paths: list("nonResourceURLs"),
        }
    }

    /// The rules of a role.
    pub fn all_of(role: &Value) -> Vec<Self> {
        object::items(role, "/rules").iter().map(Self::of).collect()
    }

    /// The rule as an object shows it: empty lists are left out.
    pub fn to_value(&self) -> Value {
        let mut rule = json!({ "verbs": self.verbs });
        let lists = [
            ("apiGroups", &self.groups),
            ("resources", &self.resources),
            ("resourceNames", &self.names),
            ("nonResourceURLs", &self.paths),
        ];
        for (field, list) in lists {
            if !list.is_empty() {
                rule[field] = json!(list);
            }
        }
        rule
    }

    /// Whether it allows a request.
    pub fn allows(&self, what: &Attributes<'_>) -> bool {
        if !has_or_any(&self.verbs, what.verb) {
            return false;
        }
        match what.path {
            Some(path) => self.paths.iter().any(|own| path_covers(own, path)),
            None => {
                has_or_any(&self.groups, what.group)
                    && self.resources.iter().any(|own| resource_allows(own, what))
                    && (self.names.is_empty() || has(&self.names, what.name))
            }
        }
    }

    /// Whether everything that `other` allows is allowed by this rule alone.
    pub fn covers(&self, other: &Self) -> bool {
        has_all_or_any(&self.verbs, &other.verbs)
            && has_all_or_any(&self.groups, &other.groups)
            && other.resources.iter().all(|resource| self.covers_resource(resource))
            && (self.names.is_empty() || !other.names.is_empty() && has_all(&self.names, &other.names))
            && other.paths.iter().all(|path| self.paths.iter().any(|own| path_covers(own, path)))
    }

    fn covers_resource(&self, resource: &str) -> bool {
        self.resources.iter().any(|own| {
            own == "*"
                || own == resource
                || resource.split_once('/').is_some_and(|(_, sub)| own.strip_prefix("*/") == Some(sub))
        })
    }
}

fn resource_allows(own: &str, what: &Attributes<'_>) -> bool {
    if own == "*" {
        return true;
    }
    if what.subresource.is_empty() {
        return own == what.resource;
    }
    // A subresource may have slashes of its own: the keys of user extras do.
    own.strip_prefix("*/") == Some(what.subresource)
        || own.strip_prefix(what.resource).and_then(|rest| rest.strip_prefix('/')) == Some(what.subresource)
}

/// Whether a granted path is this one or above it.
fn path_covers(own: &str, path: &str) -> bool {
    own == path || own.ends_with('*') && path.starts_with(own.trim_end_matches('*'))
}

fn has(list: &[String], item: &str) -> bool {
    list.iter().any(|own| own == item)
}

fn has_all(list: &[String], items: &[String]) -> bool {
    items.iter().all(|item| has(list, item))
}

fn has_or_any(list: &[String], item: &str) -> bool {
    list.iter().any(|own| own == "*" || own == item)
}

fn has_all_or_any(list: &[String], items: &[String]) -> bool {
    has(list, "*") || has_all(list, items)
}
