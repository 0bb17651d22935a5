use serde_json::{Value, json};

use super::*;

fn gears() -> Custom {
    let version = |name: &str, full| CustomVersion { name: name.into(), status: full, scale: full };
    Custom {
        group: "example.com".into(),
        plural: "gears".into(),
        singular: "gear".into(),
        kind: "Gear".into(),
        short_names: vec!["gr".into()],
        namespaced: true,
        versions: vec![version("v1beta1", false), version("v1", true)],
        ..Custom::default()
    }
}

fn find<'a>(list: &'a Value, field: &str, value: &str) -> &'a Value {
    let items = list.as_array().expect("there must be a list");
    items.iter().find(|item| item[field] == value).unwrap_or_else(|| panic!("no {value}"))
}

#[test]
fn groups_come_in_upstreams_order_and_custom_ones_last() {
    let other = Custom { group: "a.example.com".into(), ..gears() };
    let list = Served::with([gears(), other]).group_list();
    let names: Vec<_> = list["groups"]
        .as_array()
        .expect("groups")
        .iter()
        .filter_map(|group| group["name"].as_str())
        .collect();
    assert_eq!(names[..3], ["apps", "events.k8s.io", "authentication.k8s.io"]);
    assert_eq!(names[names.len() - 2..], ["a.example.com", "example.com"]);
    let group = find(&list["groups"], "name", "autoscaling");
    assert_eq!(group["preferredVersion"], json!({ "groupVersion": "autoscaling/v2", "version": "v2" }));
}

#[test]
fn every_group_of_the_table_is_listed() {
    let served = Served::builtin();
    for builtin in crate::api::builtin::BUILTINS {
        for version in builtin.versions {
            let version = served.version(builtin.group, version).expect(builtin.plural);
            assert!(version.resources.iter().any(|resource| resource.plural == builtin.plural));
        }
    }
}

#[test]
fn resources_name_their_subresources() {
    let list = Served::builtin().resource_list("", "v1").expect("the core must be served");
    let names: Vec<_> = list["resources"]
        .as_array()
        .expect("resources")
        .iter()
        .filter_map(|item| item["name"].as_str())
        .collect();
    assert!(names.is_sorted(), "{names:?}");
    let eviction = json!({ "name": "pods/eviction", "singularName": "", "namespaced": true, "group": "policy",
        "version": "v1", "kind": "Eviction", "verbs": ["create"] });
    assert_eq!(find(&list["resources"], "name", "pods/eviction"), &eviction);
    assert_eq!(find(&list["resources"], "name", "pods/binding")["kind"], "Binding");
    assert_eq!(find(&list["resources"], "name", "configmaps")["shortNames"], json!(["cm"]));
    let verbs = &find(&list["resources"], "name", "namespaces")["verbs"];
    assert!(!verbs.as_array().expect("verbs").contains(&"deletecollection".into()));
}

#[test]
fn custom_kind_is_served_in_each_of_its_versions() {
    let served = Served::with([gears()]);
    let group = served.group_document("example.com").expect("the group must be served");
    assert_eq!(group["preferredVersion"]["version"], "v1");
    let beta = served.resource_list("example.com", "v1beta1").expect("the version must be served");
    assert_eq!(beta["resources"].as_array().map(Vec::len), Some(1));
    let all = served.aggregated(false);
    let group = all["items"].as_array().and_then(|items| items.last()).expect("there must be groups");
    let stable = &group["versions"][0]["resources"][0];
    let response = json!({ "group": "example.com", "version": "v1", "kind": "Gear" });
    assert_eq!((&stable["responseKind"], &stable["scope"]), (&response, &json!("Namespaced")));
    let scale = find(&stable["subresources"], "subresource", "scale");
    assert_eq!(scale["responseKind"], json!({ "group": "autoscaling", "version": "v1", "kind": "Scale" }));
    assert!(served.group_document("").is_none() && served.resource_list("apps", "v99").is_none());
}

#[test]
fn versions_are_compared_as_kubernetes_does() {
    let mut versions =
        ["foo10", "v1", "v1alpha1", "v10", "v2", "v1beta2", "v3beta1", "foo1", "v01", "v11beta2"];
    versions.sort_by(|one, other| compare_versions(one, other));
    let expected = ["v10", "v2", "v1", "v11beta2", "v3beta1", "v1beta2", "v1alpha1", "foo1", "foo10", "v01"];
    assert_eq!(versions, expected);
}

#[test]
fn tag_follows_the_content() {
    let tag = etag(b"one");
    assert!(tag.len() == 130 && tag != etag(b"two"));
    assert!(unchanged(Some(&tag), &tag) && unchanged(Some(&format!("\"x\", {tag}")), &tag));
    assert!(!unchanged(None, &tag) && !unchanged(Some("\"x\""), &tag));
}

#[test]
fn server_tells_which_kubernetes_it_stands_for() {
    let version = server_version();
    let text = version["gitVersion"].as_str().expect("a version");
    let minor = version["minor"].as_str().expect("a number");
    assert!(version["major"] == "1" && text.starts_with(&format!("v1.{minor}.")), "{version}");
}
