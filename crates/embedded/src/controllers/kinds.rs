//! The kinds that the server serves, as discovery tells, and what is read of an object of any kind: its metadata.

use std::{borrow::Cow, collections::HashSet};

use anneal_kit::light;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Api, Client, Resource,
    core::{ApiResource, DynamicResourceScope, discovery::v2::APIGroupDiscoveryList},
};
use serde::Deserialize;

/// An object of some kind. Whole objects arrive, as the server stores them; the rest is skipped unread, which is
/// cheaper for both than to ask for metadata alone.
#[derive(Clone, Debug, Deserialize)]
pub struct Thing {
    #[serde(deserialize_with = "light")]
    pub metadata: ObjectMeta,
}

impl Resource for Thing {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(api: &ApiResource) -> Cow<'_, str> {
        api.kind.as_str().into()
    }

    fn group(api: &ApiResource) -> Cow<'_, str> {
        api.group.as_str().into()
    }

    fn version(api: &ApiResource) -> Cow<'_, str> {
        api.version.as_str().into()
    }

    fn plural(api: &ApiResource) -> Cow<'_, str> {
        api.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// A kind in the version that the server prefers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Kind {
    pub api: ApiResource,
    pub namespaced: bool,
    verbs: Vec<String>,
}

impl Kind {
    pub fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|known| known == verb)
    }

    /// The name that its definition would have: `certificates.example.com`. It stays when the version changes.
    pub fn name(&self) -> String {
        format!("{}.{}", self.api.plural, self.api.group)
    }

    /// Its objects in a namespace, or those of the cluster if that is empty.
    pub fn objects(&self, client: &Client, namespace: &str) -> Api<Thing> {
        match namespace {
            "" => Api::all_with(client.clone(), &self.api),
            namespace => Api::namespaced_with(client.clone(), namespace, &self.api),
        }
    }

    #[cfg(test)]
    pub fn test(group: &str, kind: &str, namespaced: bool) -> Self {
        let api_version = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") };
        let (group, version, plural) =
            (group.to_owned(), "v1".to_owned(), format!("{}s", kind.to_lowercase()));
        let api = ApiResource { group, version, api_version, kind: kind.to_owned(), plural };
        let verbs = ["delete", "deletecollection", "get", "list", "watch"];
        Self { api, namespaced, verbs: verbs.map(str::to_owned).into() }
    }
}

/// Every kind that is served.
pub async fn discover(client: &Client) -> kube::Result<Vec<Kind>> {
    let mut kinds = preferred(client.list_core_api_versions_aggregated().await?);
    kinds.extend(preferred(client.list_api_groups_aggregated().await?));
    Ok(kinds)
}

/// Each kind once: versions come with the preferred one first.
fn preferred(groups: APIGroupDiscoveryList) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for group in groups.items {
        let name = group.metadata.and_then(|metadata| metadata.name).unwrap_or_default();
        let mut seen = HashSet::new();
        for version in group.versions {
            let number = version.version.unwrap_or_default();
            for resource in version.resources {
                let plural = resource.resource.unwrap_or_default();
                if !seen.insert(plural.clone()) {
                    continue;
                }
                let api = ApiResource {
                    api_version: if name.is_empty() { number.clone() } else { format!("{name}/{number}") },
                    group: name.clone(),
                    version: number.clone(),
                    kind: resource.response_kind.and_then(|response| response.kind).unwrap_or_default(),
                    plural,
                };
                let namespaced = resource.scope.as_deref() == Some("Namespaced");
                kinds.push(Kind { api, namespaced, verbs: resource.verbs });
            }
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_kind_counts_once_in_its_preferred_version() {
        let resource = |plural: &str, kind: &str| {
            json!({
                "resource": plural, "scope": "Namespaced", "verbs": ["get", "list"],
                "responseKind": { "group": "g", "version": "v", "kind": kind },
            })
        };
        let groups = json!({ "items": [{
            "metadata": { "name": "example.com" },
            "versions": [
                { "version": "v2", "resources": [resource("apples", "Apple")] },
                { "version": "v1", "resources": [resource("apples", "Apple"), resource("pears", "Pear")] },
            ],
        }] });
        let kinds = preferred(serde_json::from_value(groups).expect("a document"));
        let seen: Vec<_> = kinds.iter().map(|kind| (kind.name(), kind.api.api_version.as_str())).collect();
        assert_eq!(
            seen,
            [
                ("apples.example.com".to_owned(), "example.com/v2"),
                ("pears.example.com".to_owned(), "example.com/v1")
            ]
        );
        assert!(kinds[0].namespaced && kinds[0].can("list") && !kinds[0].can("delete"));
    }
}
