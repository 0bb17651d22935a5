//! The documents of discovery.

use std::fmt::Write;

use ring::digest::{SHA512, digest};
use serde_json::{Map, Value, json};

use super::{Group, Resource, Served, Subresource, Text, Version, api_version};

/// The tag of a document: it changes with its content.
pub fn etag(document: &[u8]) -> String {
    let mut tag = String::from("\"");
    for byte in digest(&SHA512, document).as_ref() {
        // Writing to a text cannot fail.
        let _ = write!(tag, "{byte:02X}");
    }
    tag + "\""
}

/// Whether the client has the document already (304).
pub fn unchanged(if_none_match: Option<&str>, etag: &str) -> bool {
    if_none_match.is_some_and(|tags| tags.split(',').any(|tag| tag.trim().trim_start_matches("W/") == etag))
}

impl Served {
    /// `/api`. The address is where this server can be reached.
    pub fn core_versions(&self, address: &str) -> Value {
        let versions = self.group("").map_or(&[][..], |group| &group.versions);
        json!({
            "kind": "APIVersions",
            "versions": versions.iter().map(|version| version.name.as_ref()).collect::<Vec<_>>(),
            "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": address }],
        })
    }

    /// `/apis`.
    pub fn group_list(&self) -> Value {
        let groups =
            self.groups().iter().filter(|group| !group.name.is_empty()).map(|group| group.describe());
        json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups.collect::<Vec<_>>() })
    }

    /// `/apis/{group}`; `None` if it is not served.
    pub fn group_document(&self, name: &str) -> Option<Value> {
        let mut group = self.group(name).filter(|group| !group.name.is_empty())?.describe();
        group["kind"] = "APIGroup".into();
        group["apiVersion"] = "v1".into();
        Some(group)
    }

    /// `/api/v1` and `/apis/{group}/{version}`; `None` if it is not served.
    pub fn resource_list(&self, group: &str, version: &str) -> Option<Value> {
        let resources = self.version(group, version)?.resources.iter();
        let resources: Vec<_> = resources.flat_map(Resource::describe).collect();
        let api_version = api_version(group, version);
        Some(json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": resources
        }))
    }

    /// `/api` or `/apis` for those who want all at once.
    pub fn aggregated(&self, core: bool) -> Value {
        let groups = self.groups().iter().filter(|group| group.name.is_empty() == core);
        json!({
            "kind": "APIGroupDiscoveryList",
            "apiVersion": "apidiscovery.k8s.io/v2",
            "metadata": {},
            "items": groups.map(Group::aggregated).collect::<Vec<_>>(),
        })
    }
}

impl Group {
    fn describe(&self) -> Value {
        let version = |version: &Version| json!({ "groupVersion": api_version(&self.name, &version.name), "version": version.name });
        let versions: Vec<_> = self.versions.iter().map(version).collect();
        json!({ "name": self.name, "preferredVersion": versions.first(), "versions": versions })
    }

    fn aggregated(&self) -> Value {
        let metadata = if self.name.is_empty() { json!({}) } else { json!({ "name": self.name }) };
        let version = |version: &Version| {
            let resources = version.resources.iter();
            let resources = resources.map(|resource| resource.aggregated(&self.name, &version.name));
            json!({
                "version": version.name,
                "resources": resources.collect::<Vec<_>>(),
                "freshness": "Current",
            })
        };
        json!({ "metadata": metadata, "versions": self.versions.iter().map(version).collect::<Vec<_>>() })
    }
}

impl Resource {
    /// The entries of the resource and its subresources.
    fn describe(&self) -> impl Iterator<Item = Value> {
        let mut entry = json!({
            "name": self.plural,
            "singularName": self.singular,
            "namespaced": self.namespaced,
            "kind": self.kind,
            "verbs": self.verbs,
        });
        self.add_names(&mut entry);
        std::iter::once(entry).chain(self.subresources.iter().map(|subresource| {
            let mut entry = json!({
                "name": format!("{}/{}", self.plural, subresource.name),
                "singularName": "",
                "namespaced": self.namespaced,
                "kind": self.kind,
                "verbs": subresource.verbs,
            });
            if let Some((group, version, kind)) = subresource.other {
                entry["kind"] = kind.into();
                if !group.is_empty() {
                    entry["group"] = group.into();
                    entry["version"] = version.into();
                }
            }
            entry
        }))
    }

    fn aggregated(&self, group: &str, version: &str) -> Value {
        let kind = |other: Option<(&str, &str, &str)>| {
            let (group, version, kind) = other.unwrap_or((group, version, &self.kind));
            json!({ "group": group, "version": version, "kind": kind })
        };
        let mut entry = json!({
            "resource": self.plural,
            "responseKind": kind(None),
            "scope": if self.namespaced { "Namespaced" } else { "Cluster" },
            "singularResource": self.singular,
            "verbs": self.verbs,
        });
        self.add_names(&mut entry);
        let describe = |subresource: &Subresource| {
            json!({
                "subresource": subresource.name,
                "responseKind": kind(subresource.other),
                "verbs": subresource.verbs,
            })
        };
        if !self.subresources.is_empty() {
            entry["subresources"] = self.subresources.iter().map(describe).collect();
        }
        entry
    }

    fn add_names(&self, entry: &mut Value) {
        let mut add = |field: &str, names: &[Text]| {
            if !names.is_empty() {
                let names: Vec<_> = names.iter().map(|name| Value::from(name.as_ref())).collect();
                entry
                    .as_object_mut()
                    .map(|entry: &mut Map<_, _>| entry.insert(field.to_owned(), names.into()));
            }
        };
        add("shortNames", &self.short_names);
        add("categories", &self.categories);
    }
}
