//! The `/scale` subresource: a number of replicas, the same for every kind that has one.
//!
//! Pure functions between an object and its `autoscaling/v1` Scale. The built-in kinds keep replicas in fixed
//! places; a custom resource's definition names its own.

use serde_json::{Map, Value, json};

use super::{
    builtin::selector,
    fault::{Faults, Path},
    object,
};

/// Where an object keeps what its Scale shows, as paths such as `.spec.replicas`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ScalePaths {
    /// Below `.spec`.
    pub spec_replicas: String,
    /// Below `.status`.
    pub status_replicas: String,
    pub selector: Selector,
}

/// Where an object keeps its label selector.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Selector {
    /// As an object, in `.spec.selector`: built-in kinds.
    Spec,
    /// As a text: custom resources.
    Text(String),
    /// Nowhere: custom resources that have none.
    None,
}

impl ScalePaths {
    /// Those of Deployments, ReplicaSets and StatefulSets.
    pub fn builtin() -> Self {
        Self {
            spec_replicas: ".spec.replicas".to_owned(),
            status_replicas: ".status.replicas".to_owned(),
            selector: Selector::Spec,
        }
    }

    /// Those of a custom resource, from the `subresources.scale` of its definition; `None` without one.
    pub fn custom(scale: &Value) -> Option<Self> {
        let path = |field: &str| scale[field].as_str().map(str::to_owned);
        Some(Self {
            spec_replicas: path("specReplicasPath")?,
            status_replicas: path("statusReplicasPath")?,
            selector: path("labelSelectorPath").map_or(Selector::None, Selector::Text),
        })
    }
}

/// The metadata that a Scale has of its object.
const METADATA: [&str; 5] = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];

/// An object's Scale. Absent numbers are zero, and a zero that is wanted is left out, as upstream does.
pub fn read(object: &Value, paths: &ScalePaths) -> Value {
    let metadata: Map<_, _> = METADATA
        .iter()
        .filter_map(|field| Some(((*field).to_owned(), object["metadata"].get(field)?.clone())))
        .collect();
    let number = |path: &str| at(object, path).and_then(Value::as_i64).unwrap_or(0);
    let mut scale = json!({
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": metadata,
        "spec": {},
        "status": { "replicas": number(&paths.status_replicas) }
    });
    match number(&paths.spec_replicas) {
        0 => {}
        replicas => scale["spec"]["replicas"] = replicas.into(),
    }
    let selected = match &paths.selector {
        Selector::Spec => selector::text(&object["spec"]["selector"]),
        Selector::Text(path) => at(object, path).and_then(Value::as_str).unwrap_or_default().to_owned(),
        Selector::None => String::new(),
    };
    if !selected.is_empty() {
        scale["status"]["selector"] = selected.into();
    }
    scale
}

/// Writes what a Scale wants into its object: the number of replicas and nothing else. Whether the Scale is of
/// the version that is there is for the caller to see to.
pub fn write(object: &mut Value, scale: &Value, paths: &ScalePaths) -> Result<(), Faults> {
    let mut faults = Faults::default();
    let place = Path::new("metadata.name");
    let (name, named) = (object::name(object), object::name(scale));
    if named.is_empty() {
        faults.required(&place, "name or generateName is required");
    } else if named != name {
        faults.invalid_text(&place, named, "field is immutable");
    }
    // An absent number is a zero, because a zero is left out.
    let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
    if replicas < 0 {
        let detail = "must be greater than or equal to 0";
        faults.invalid(&Path::new("spec.replicas"), &replicas.into(), detail);
    }
    if faults.is_empty() {
        put(object, &paths.spec_replicas, replicas.into());
        Ok(())
    } else {
        Err(faults)
    }
}

/// The steps of a path such as `.spec.replicas`. A definition's paths have no others: no lists and no quotes.
fn steps(path: &str) -> impl Iterator<Item = &str> {
    path.trim_start_matches('.').split('.').filter(|step| !step.is_empty())
}

fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    steps(path).try_fold(object, |value, step| value.get(step))
}

/// Sets a value, with the objects around it if they are not there.
fn put(object: &mut Value, path: &str, value: Value) {
    let mut place = object;
    for step in steps(path) {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[step];
    }
    *place = value;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment() -> Value {
        json!({
            "metadata": { "name": "web", "namespace": "n", "uid": "u", "resourceVersion": "7", "labels": { "a": "b" } },
            "spec": { "replicas": 3, "selector": { "matchLabels": { "app": "web" } } },
            "status": { "replicas": 2 }
        })
    }

    #[test]
    fn a_scale_is_a_small_part_of_its_object() {
        let expected = json!({
            "apiVersion": "autoscaling/v1", "kind": "Scale",
            "metadata": { "name": "web", "namespace": "n", "uid": "u", "resourceVersion": "7" },
            "spec": { "replicas": 3 },
            "status": { "replicas": 2, "selector": "app=web" }
        });
        assert_eq!(read(&deployment(), &ScalePaths::builtin()), expected);
    }

    #[test]
    fn writing_changes_the_replicas_alone() {
        let (mut object, paths) = (deployment(), ScalePaths::builtin());
        let mut scale = read(&object, &paths);
        scale["spec"]["replicas"] = 0.into();
        scale["status"]["replicas"] = 9.into();
        write(&mut object, &scale, &paths).unwrap();
        let mut expected = deployment();
        expected["spec"]["replicas"] = 0.into();
        assert_eq!(object, expected);
        assert_eq!(read(&object, &paths)["spec"], json!({}));
        scale["spec"]["replicas"] = (-1).into();
        let faults = write(&mut object, &scale, &paths).unwrap_err();
        let detail = "spec.replicas: Invalid value: -1: must be greater than or equal to 0";
        assert_eq!(faults.to_string(), detail);
    }

    #[test]
    fn a_custom_resource_says_where_its_replicas_are() {
        let paths = ScalePaths::custom(&json!({
            "specReplicasPath": ".spec.size.wanted", "statusReplicasPath": ".status.size",
            "labelSelectorPath": ".status.selector"
        }))
        .unwrap();
        let mut object = json!({ "metadata": { "name": "a" }, "status": { "size": 2, "selector": "app=a" } });
        let mut scale = read(&object, &paths);
        assert_eq!(scale["status"], json!({ "replicas": 2, "selector": "app=a" }));
        scale["spec"]["replicas"] = 4.into();
        write(&mut object, &scale, &paths).unwrap();
        assert_eq!(object["spec"], json!({ "size": { "wanted": 4 } }));
    }
}
