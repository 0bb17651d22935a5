//! Definitions of custom resources that cases make up.

use anneal_harness::eventually;
use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::{Cx, Kind};

/// The definition of a kind in the case's own group, in the one version v1.
pub(crate) fn definition(cx: &Cx, kind: &str, schema: Value) -> Value {
    let group = format!("{}.conformance.anneal.dev", cx.namespace);
    let plural = format!("{}s", kind.to_lowercase());
    json!({
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase() },
            "versions": [
                { "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }
            ]
        }
    })
}

/// Installs a definition, waits until it is served, and tells the kind as it is in this version.
pub(crate) async fn install(cx: &Cx, definition: Value, version: &str) -> Result<Kind> {
    let text = |value: &Value| value.as_str().map(str::to_owned).context("a definition must be whole");
    let (name, spec) = (text(&definition["metadata"]["name"])?, &definition["spec"]);
    let kind = Kind {
        api_version: format!("{}/{version}", text(&spec["group"])?).leak(),
        kind: text(&spec["names"]["kind"])?.leak(),
        plural: text(&spec["names"]["plural"])?.leak(),
        namespaced: spec["scope"] == "Namespaced",
    };
    let definitions = cx.objects(&Kind::CRD);
    cx.delete_later(format!("{}/{name}", definitions.path()));
    let made = definitions.create(definition).await?.is(201)?;
    // Each version comes up by itself.
    for served in made["spec"]["versions"].as_array().into_iter().flatten().filter(|v| v["served"] == true) {
        let objects = cx.objects(&in_version(&kind, &text(&served["name"])?));
        eventually(format!("{name} to be served"), async || {
            let established = is(&definitions.get(&name).await?.ok()?, "Established", "True");
            Ok((established && objects.list("").await?.status == 200).then_some(()))
        })
        .await?;
    }
    Ok(kind)
}

/// Whether a definition has a condition with this status.
pub(crate) fn is(definition: &Value, condition: &str, status: &str) -> bool {
    let conditions = definition["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|c| c["type"] == condition && c["status"] == status)
}

pub(crate) fn in_version(kind: &Kind, version: &str) -> Kind {
    let group = kind.api_version.split('/').next().unwrap_or_default();
    Kind { api_version: format!("{group}/{version}").leak(), ..*kind }
}

pub(crate) fn name_of(kind: &Kind) -> String {
    let group = kind.api_version.split('/').next().unwrap_or_default();
    format!("{}.{group}", kind.plural)
}
