//! Requests and limits of a container or a pod.

use serde_json::{Value, json};

use crate::api::{
    fault::{Faults, Path},
    quantity::{Quantity, quantities},
    valid,
};

/// Names without a domain that containers may ask for.
const STANDARD: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// Names, values, and that no request exceeds its limit.
pub(super) fn validate_resources(resources: &Value, path: &Path, faults: &mut Faults) {
    let (limits, requests) = (&resources["limits"], &resources["requests"]);
    let (limits_path, requests_path) = (path.child("limits"), path.child("requests"));
    validate_quantities(limits, &limits_path, faults);
    validate_quantities(requests, &requests_path, faults);
    for (name, request) in quantities(requests) {
        let limit = Quantity::of(&limits[name]);
        let shown = json!(request.to_string());
        match (limit, may_exceed(name)) {
            (Some(limit), false) if request != limit => {
                faults.invalid(&requests_path, &shown, format!("must be equal to {name} limit of {limit}"));
            }
            (Some(limit), _) if request > limit => {
                let detail = format!("must be less than or equal to {name} limit of {limit}");
                faults.invalid(&requests_path, &shown, detail);
            }
            (None, false) => {
                faults.required(&limits_path, "Limit must be set for non overcommitable resources");
            }
            _ => {}
        }
    }
    let named = |names: &[&str], value: &Value| quantities(value).any(|(name, _)| names.contains(&name));
    let huge = |value: &Value| quantities(value).any(|(name, _)| name.starts_with("hugepages-"));
    let compute = ["cpu", "memory"];
    if (huge(limits) || huge(requests)) && !named(&compute, limits) && !named(&compute, requests) {
        faults.forbidden(path, "HugePages require cpu or memory");
    }
}

/// Whether a limit may lie above the request: not for things that cannot be shared, such as devices.
fn may_exceed(name: &str) -> bool {
    !name.starts_with("hugepages-") && (!name.contains('/') || name.contains("kubernetes.io/"))
}

fn validate_quantities(map: &Value, path: &Path, faults: &mut Faults) {
    for (name, value) in map.as_object().into_iter().flatten() {
        let path = path.key(name);
        if let Some(fault) = valid::qualified_name(name) {
            faults.invalid_text(&path, name, fault);
        }
        if !name.contains('/') && !STANDARD.contains(&name.as_str()) && !name.starts_with("hugepages-") {
            faults.invalid_text(&path, name, "must be a standard resource type or fully qualified");
            faults.invalid_text(&path, name, "must be a standard resource for containers");
        }
        match Quantity::of(value) {
            None => faults.invalid(&path, value, "must be a valid resource quantity"),
            Some(quantity) if quantity.is_negative() => {
                faults.invalid(&path, value, "must be greater than or equal to 0");
            }
            // What is counted in pieces has no fractions.
            Some(quantity) if name.contains('/') && !quantity.is_whole() => {
                faults.invalid(&path, value, "must be an integer");
            }
            Some(_) => {}
        }
    }
}
