//! All CRDs, as they are installed.
//!
//! The derived schemas are finished here, in one place: what the derive cannot say, and what it
//! says that we do not want.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::Value;

use crate::{elide, kapsa, kco, krkn};

/// Helm leaves an object with this annotation alone when the chart is uninstalled or drops it:
/// deleting a CRD deletes every object of its kind.
const KEEP: (&str, &str) = ("helm.sh/resource-policy", "keep");

/// Every CRD of Anneal, in a fixed order.
pub fn all() -> Vec<CustomResourceDefinition> {
    vec![
        finish(elide::v1::Application::crd()),
        finish(kapsa::v1alpha1::Project::crd()),
        finish(kapsa::v1alpha1::Environment::crd()),
        finish(kapsa::v1alpha1::DomainPool::crd()),
        finish(kapsa::v1alpha1::Registry::crd()),
        finish(kco::v1alpha1::require_trigger_value(kco::v1alpha1::TargetApp::crd())),
        finish(krkn::v1alpha1::KrknTargetRequest::crd()),
        finish(krkn::v1alpha1::KrknOperatorTargetProvider::crd()),
        finish(krkn::v1alpha1::KrknOperatorTarget::crd()),
        finish(krkn::v1alpha1::KrknScenarioRun::crd()),
    ]
}

fn finish(crd: CustomResourceDefinition) -> CustomResourceDefinition {
    let mut crd = edit_schema(crd, &mut tidy);
    let annotations = crd.metadata.annotations.get_or_insert_default();
    annotations.insert(KEEP.0.to_owned(), KEEP.1.to_owned());
    crd
}

/// Applies `edit` to the schema of every version.
pub(crate) fn edit_schema(
    mut crd: CustomResourceDefinition,
    edit: &mut dyn FnMut(&mut Value),
) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        let Some(validation) = &mut version.schema else { continue };
        let Some(schema) = validation.open_api_v3_schema.take() else { continue };
        let mut schema = serde_json::to_value(schema).expect("a schema must serialise");
        edit(&mut schema);
        validation.open_api_v3_schema =
            Some(serde_json::from_value(schema).expect("an edited schema must stay one"));
    }
    crd
}

/// Drops `nullable`, which the derive puts on every optional field. Without it the API server takes an
/// explicit null for an absent field, and `has()` in a CEL rule means what it says.
/// Descriptions lose their line breaks: Markdown would join those lines, a terminal does not.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("nullable").is_some_and(Value::is_boolean) {
                fields.remove("nullable");
            }
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = text
                    .split("\n\n")
                    .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
                    .collect::<Vec<_>>()
                    .join("\n\n");
            }
            fields.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
