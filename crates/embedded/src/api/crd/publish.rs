//! The schema of a custom resource as `/openapi/v3` shows it.

use serde_json::{Value, json};

use super::super::object;

const OBJECT_META: &str = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The schema of one version of a definition. It refers to the definition of `metadata` by name, so that must
/// be published beside it.
pub fn publish(crd: &Value, version: &str) -> Option<Value> {
    let spec = &crd["spec"];
    let versions = object::items(spec, "/versions");
    let found = versions.iter().find(|candidate| candidate["name"] == version)?;
    let mut schema = found["schema"]["openAPIV3Schema"].clone();
    let text = |text: &str| json!({ "type": "string", "description": text });
    let own = schema["properties"]["metadata"]["description"].as_str();
    let description = own.unwrap_or("Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata");
    let metadata = json!({ "allOf": [{ "$ref": OBJECT_META }], "description": description });
    let properties = object::child(&mut schema, "properties")?;
    properties.insert("apiVersion".to_owned(), text(API_VERSION));
    properties.insert("kind".to_owned(), text(KIND));
    properties.insert("metadata".to_owned(), metadata);
    schema["x-kubernetes-group-version-kind"] =
        json!([{ "group": spec["group"], "version": version, "kind": spec["names"]["kind"] }]);
    Some(schema)
}

const API_VERSION: &str = "APIVersion defines the versioned schema of this representation of an object. Servers \
    should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";

const KIND: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer \
    this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::publish;

    #[test]
    fn a_published_schema_tells_its_kind_and_refers_to_metadata() {
        let schema = json!({ "type": "object", "properties": { "spec": { "type": "object" } } });
        let version = json!({ "name": "v1", "schema": { "openAPIV3Schema": schema } });
        let names = json!({ "kind": "Thing" });
        let crd = json!({ "spec": { "group": "a.example", "names": names, "versions": [version] } });
        let published = publish(&crd, "v1").expect("a version of its own");
        let kind = json!([{ "group": "a.example", "version": "v1", "kind": "Thing" }]);
        assert_eq!(published["x-kubernetes-group-version-kind"], kind);
        let metadata = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
        assert_eq!(published["properties"]["metadata"]["allOf"][0]["$ref"], metadata);
        assert_eq!(published["properties"]["spec"], json!({ "type": "object" }));
        assert!(publish(&crd, "v2").is_none());
    }
}
