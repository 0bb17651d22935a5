use super::*;

/// Calls `visit` with the path and the schema of every property below `schema`.
fn properties(path: &str, schema: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        visit(&path, property);
        properties(&path, property, visit);
    }
    for inner in ["items", "additionalProperties"] {
        if schema[inner].is_object() {
            properties(&format!("{path}[]"), &schema[inner], visit);
        }
    }
}

fn schemas() -> Vec<(String, Value)> {
    let schema = |crd: CustomResourceDefinition| {
        let version = crd.spec.versions.into_iter().next().expect("a CRD must have a version");
        let schema = version.schema.and_then(|schema| schema.open_api_v3_schema);
        (crd.spec.names.kind, serde_json::to_value(schema).expect("a schema must serialise"))
    };
    all().into_iter().map(schema).collect()
}

#[test]
fn every_field_has_a_description() {
    let mut bare = Vec::new();
    for (kind, schema) in schemas() {
        for part in ["spec", "status"] {
            let part_schema = &schema["properties"][part];
            properties(&format!("{kind}.{part}"), part_schema, &mut |path, property| {
                if property["description"].as_str().is_none_or(str::is_empty) {
                    bare.push(path.to_owned());
                }
            });
        }
    }
    assert_eq!(bare, Vec::<String>::new());
}

#[test]
fn schemas_speak_only_formats_the_api_server_knows() {
    let mut odd = Vec::new();
    for (kind, schema) in schemas() {
        properties(&kind, &schema, &mut |path, property| {
            let format = property["format"].as_str();
            if !matches!(format, None | Some("int32" | "int64" | "double" | "date-time")) {
                odd.push(format!("{path}: {format:?}"));
            }
            if !property["nullable"].is_null() {
                odd.push(format!("{path}: nullable"));
            }
        });
    }
    assert_eq!(odd, Vec::<String>::new());
}

#[test]
fn crds_use_nothing_newer_than_kubernetes_1_30() {
    for crd in all() {
        let name = crd.metadata.name.clone().unwrap_or_default();
        let text = serde_json::to_string(&crd).expect("a CRD must serialise");
        // Selectable fields became beta in 1.31; optionalOldSelf in 1.30, but not for all rules.
        for newer in ["selectableFields", "optionalOldSelf"] {
            assert!(!text.contains(newer), "{name} uses {newer}");
        }
    }
}

#[test]
fn every_kind_has_a_status_subresource_and_shows_its_age() {
    for crd in all() {
        for version in &crd.spec.versions {
            let kind = &crd.spec.names.kind;
            let subresources = version.subresources.as_ref();
            assert!(subresources.is_some_and(|sub| sub.status.is_some()), "{kind} has no status");
            let columns = version.additional_printer_columns.iter().flatten();
            assert_eq!(columns.last().map(|column| column.name.as_str()), Some("Age"), "{kind}");
        }
    }
}

#[test]
fn settings_are_not_shadowed_by_schema_defaults() {
    let schemas = schemas();
    for (kind, pointer) in [
        ("TargetApp", "/properties/spec/properties/pollingInterval"),
        ("TargetApp", "/properties/spec/properties/timeout"),
        ("TargetApp", "/properties/spec/properties/maxRetries"),
        ("Project", "/properties/spec/properties/repository/properties/pollInterval"),
    ] {
        let (_, schema) = schemas.iter().find(|(name, _)| name == kind).expect("the kind must exist");
        let field = schema.pointer(pointer).expect("the field must exist");
        assert!(field.get("default").is_none(), "{kind}{pointer} has a default");
    }
}
