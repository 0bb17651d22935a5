use std::collections::BTreeSet;

use super::*;
use crate::api::discovery::{Custom, CustomVersion};

fn nothing(_: &str, _: &str, _: &str) -> Option<Value> {
    None
}

fn read(group: &str, version: &str) -> Value {
    let document = document(&Served::builtin(), group, version, &nothing).expect("it must be served");
    serde_json::from_slice(&document).expect("a document must be JSON")
}

fn names(parameters: &Value) -> BTreeSet<&str> {
    let parameters = parameters.as_array().into_iter().flatten();
    parameters.filter_map(|parameter| parameter["name"].as_str()).collect()
}

#[test]
fn writes_offer_what_kubectl_looks_for() {
    let core = read("", "v1");
    let kind = json!({ "group": "", "kind": "ConfigMap", "version": "v1" });
    let collection = &core["paths"]["/api/v1/namespaces/{namespace}/configmaps"];
    let object = &core["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"];
    for operation in [&collection["post"], &object["put"], &object["patch"]] {
        assert_eq!(operation["x-kubernetes-group-version-kind"], kind);
        assert!(
            names(&operation["parameters"])
                .is_superset(&["dryRun", "fieldManager", "fieldValidation"].into())
        );
    }
    assert_eq!(collection["get"]["x-kubernetes-action"], "list");
    let schema = &core["components"]["schemas"]["io.k8s.api.core.v1.ConfigMap"];
    assert_eq!(schema["x-kubernetes-group-version-kind"], json!([kind]));
    // Every PATCH of a kind counts for kubectl, whichever path it finds first.
    for (path, item) in core["paths"].as_object().expect("there must be paths") {
        if item["patch"].is_object() {
            assert!(names(&item["patch"]["parameters"]).contains("fieldValidation"), "{path}");
        }
    }
}

#[test]
fn every_reference_leads_somewhere_in_the_same_document() {
    fn references(value: &Value, found: &mut BTreeSet<String>) {
        if let Some(name) = value["$ref"].as_str() {
            found.insert(name.trim_start_matches("#/components/schemas/").to_owned());
        }
        value.as_object().into_iter().flatten().for_each(|(_, inner)| references(inner, found));
        value.as_array().into_iter().flatten().for_each(|inner| references(inner, found));
    }
    for group in Served::builtin().groups() {
        for version in &group.versions {
            let document = read(&group.name, &version.name);
            let mut found = BTreeSet::new();
            references(&document, &mut found);
            for name in found {
                assert!(document["components"]["schemas"][&name].is_object(), "{}: {name}", group.name);
            }
        }
    }
}

#[test]
fn operations_have_names_of_their_own() {
    let core = read("", "v1");
    let mut seen = BTreeSet::new();
    for item in core["paths"].as_object().expect("there must be paths").values() {
        for id in item.as_object().into_iter().flatten().filter_map(|(_, one)| one["operationId"].as_str()) {
            assert!(seen.insert(id.to_owned()), "{id}");
        }
    }
}

#[test]
fn custom_kind_is_described_as_its_definition_says() {
    let version = CustomVersion { name: "v1".into(), status: true, scale: true };
    let served = Served::with([Custom {
        group: "example.com".into(),
        plural: "gears".into(),
        kind: "Gear".into(),
        namespaced: true,
        versions: vec![version],
        ..Custom::default()
    }]);
    let publish = |_: &str, _: &str, kind: &str| {
        (kind == "Gear").then(|| {
            json!({ "type": "object", "description": "a gear", "properties": {
            "spec": { "type": "object" }, "metadata": { "type": "object" }
        } })
        })
    };
    let document = document(&served, "example.com", "v1", &publish).expect("it must be served");
    let tag = etag(&document);
    let document: Value = serde_json::from_slice(&document).expect("a document must be JSON");
    let schema = &document["components"]["schemas"]["com.example.v1.Gear"];
    assert_eq!(
        (&schema["description"], &schema["properties"]["kind"]["type"]),
        (&json!("a gear"), &json!("string"))
    );
    assert!(schema["properties"]["metadata"]["$ref"].is_string());
    let patch = &document["paths"]["/apis/example.com/v1/namespaces/{namespace}/gears/{name}"]["patch"];
    let types = patch["requestBody"]["content"].as_object().expect("types");
    assert!(types.len() == 3 && types.contains_key("application/apply-patch+yaml"));
    let index = index(&served, &publish);
    let hash = tag.trim_matches('"');
    let url = format!("/openapi/v3/apis/example.com/v1?hash={hash}");
    assert_eq!(index["paths"]["apis/example.com/v1"]["serverRelativeURL"], url);
    assert_eq!(caching("example.com", "v1", &tag, Some(hash)), Caching::Forever);
    assert_eq!(caching("example.com", "v1", &tag, Some("old")), Caching::Moved(url));
    assert_eq!(caching("example.com", "v1", &tag, None), Caching::Never);
}

#[test]
fn paths_lead_to_groups_and_versions() {
    assert_eq!(parse_path("api/v1"), Some(("", "v1")));
    assert_eq!(parse_path("apis/apps/v1"), Some(("apps", "v1")));
    assert_eq!((parse_path("apis/apps"), parse_path("api/v1/x"), parse_path("")), (None, None, None));
}

#[test]
fn version_2_is_a_message_that_protobuf_can_read() {
    assert!(v2::is_protobuf(
        "application/json;q=0.5, application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    ));
    assert!(!v2::is_protobuf("application/json, */*"));
    let version = v2::document()["info"]["version"].as_str().expect("there must be a version").to_owned();
    let message = v2::protobuf();
    assert!(message.starts_with(b"\x0a\x032.0\x12"), "{message:?}");
    let info = &message[7..message.len() - 2];
    assert_eq!(usize::from(message[6]), info.len());
    assert!(info.starts_with(format!("\n\nKubernetes\x12\x06{version}\x1a").as_bytes()), "{message:?}");
    assert!(message.ends_with(b"\x42\0"), "the paths, of which there is none: {message:?}");
}
