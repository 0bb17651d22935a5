//! Objects of built-in kinds, and the way that every object takes to where it is stored.

use std::{
    str,
    sync::{Arc, LazyLock},
};

use serde_json::Value;

use super::{NOW, json};
use crate::api::{
    behaviour::Part,
    builtin::service::settle_families,
    fault::Faults,
    metadata, object,
    resource::{Resource, Resources},
    valid,
};

static BUILTIN: LazyLock<Resources> = LazyLock::new(Resources::builtin);

/// The built-in resource of a kind.
pub(super) fn builtin(api_version: &str, kind: &str) -> Option<Arc<Resource>> {
    let all = BUILTIN.all();
    all.values().find(|resource| resource.api_version == api_version && resource.kind == kind).cloned()
}

/// An object of a built-in kind.
pub fn kind(data: &[u8]) {
    let Some(body) = str::from_utf8(data).ok().and_then(json) else { return };
    let Some(resource) = builtin(object::text(&body, "/apiVersion"), object::text(&body, "/kind")) else {
        return;
    };
    created(&resource, body, true);
}

/// What is stored of a body, if it is allowed. What is stored stays as it is when it is read and written again, and is
/// then allowed too: `refresh` is false if there may be rules about change.
pub(super) fn created(resource: &Resource, mut new: Value, refresh: bool) -> Option<Value> {
    resource.conform(&mut new).ok()?;
    settled(&new, "reading", |object| assert_eq!(resource.conform(object), Ok(Vec::new())));
    let namespace = if resource.namespaced { "default" } else { "" };
    metadata::place(&mut new, namespace).ok()?;
    metadata::create(&mut new, "uid".to_owned(), NOW, resource.has_generation()).ok()?;
    let sent = new.clone();
    resource.default(&mut new);
    resource.prepare_create(&mut new, &sent);
    let mut faults = Faults::default();
    if resource.kind == "Service" && resource.custom().is_none() {
        settle_families(&mut new, None, &mut faults);
    }
    valid::metadata(&new, resource.names(), resource.namespaced, &mut faults);
    resource.validate(&new, None, Part::Main, &mut faults);
    let _ = resource.warnings(&new, None);
    assert_eq!(resource.cells(&new, NOW).len(), resource.columns().len());
    let _ = resource.fields(&new);
    if !faults.is_empty() {
        return None;
    }
    settled(&new, "defaulting again", |object| resource.default(object));
    settled(&new, "an update that changes nothing", |object| {
        assert_eq!(resource.conform(object), Ok(Vec::new()));
        let mut faults = Faults::default();
        metadata::update(object, &new, &mut faults);
        resource.default(object);
        resource.prepare_update(object, &new, Part::Main);
        if refresh {
            resource.validate(object, Some(&new), Part::Main, &mut faults);
        }
        assert!(faults.is_empty(), "{faults}");
    });
    Some(new)
}

/// Asserts that a step leaves an object alone.
fn settled(object: &Value, step: &str, change: impl FnOnce(&mut Value)) {
    let mut changed = object.clone();
    change(&mut changed);
    assert!(changed == *object, "{step} changed the object\n{object}\n{changed}");
}
