//! The address families of a Service.
//!
//! The server has one, IPv4. Only a headless Service without a selector may name both, as nobody but its author
//! knows what is behind it. This is settled before anything else about a Service is judged: a fault here is named
//! alone.

use std::net::Ipv6Addr;

use serde_json::{Value, json};

use super::{has_address, kind, validate::validate_addresses};
use crate::api::{
    builtin::forms::{each, text},
    fault::{Faults, Path},
    object::{fill, is_empty, items},
};

const POLICY: &str = "ipFamilyPolicy";
const SINGLE: &str = "SingleStack";
const REQUIRE: &str = "RequireDualStack";
const PREFER: &str = "PreferDualStack";

/// Fills in the policy and the families, or says why that cannot be.
pub fn settle_families(new: &mut Value, old: Option<&Value>, faults: &mut Faults) {
    if !has_address(new) || old.is_some_and(|old| prefers_the_same(new, old)) {
        return;
    }
    let free = text(&new["spec"], "clusterIP") == "None" && is_empty(&new["spec"]["selector"]);
    let before = old.map(|old| &old["spec"][POLICY]).filter(|policy| !is_empty(policy));
    let policy = before.cloned().unwrap_or_else(|| if free { REQUIRE } else { SINGLE }.into());
    fill(&mut new["spec"], POLICY, policy);
    let path = Path::new("spec");
    validate_addresses(new, &path, faults);
    if !faults.is_empty() {
        return;
    }
    if let Some(old) = old {
        release(new, old, &path, faults);
    }
    fit_policy(&new["spec"], &path, faults);
    if !faults.is_empty() {
        return;
    }
    if !free {
        only_known(&new["spec"], &path, faults);
    }
    let spec = &mut new["spec"];
    fill(spec, "ipFamilies", json!(["IPv4"]));
    if let (true, [only]) = (free && text(spec, POLICY) != SINGLE, items(spec, "/ipFamilies")) {
        let other = if only == "IPv4" { "IPv6" } else { "IPv4" };
        spec["ipFamilies"] = json!([only, other]);
    }
}

/// Who prefers two families is not moved to or from the second by a change of something else.
fn prefers_the_same(new: &Value, old: &Value) -> bool {
    let (is, was) = (&new["spec"], &old["spec"]);
    kind(new) == kind(old)
        && text(is, POLICY) == PREFER
        && [PREFER, ""].contains(&text(was, POLICY))
        && ["clusterIPs", "ipFamilies"].iter().all(|field| is[field] == was[field])
}

/// Gives up the second family if the policy says so; without such a policy that is a mistake.
fn release(new: &mut Value, old: &Value, path: &Path, faults: &mut Faults) {
    let (spec, was) = (&mut new["spec"], &old["spec"]);
    for (field, what) in [("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")] {
        let (count, before) = (length(spec, field), length(was, field));
        if text(spec, POLICY) != SINGLE {
            if 0 < count && count < before {
                let detail = format!("must be 'SingleStack' to release the secondary {what}");
                faults.invalid(&path.child(POLICY), &spec[POLICY], detail);
            }
        } else if count > 1 && spec[field] == was[field] {
            spec[field] = json!([spec[field][0]]);
        }
    }
}

fn fit_policy(spec: &Value, path: &Path, faults: &mut Faults) {
    for (field, what) in [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")] {
        if text(spec, POLICY) == SINGLE && length(spec, field) == 2 {
            let detail =
                format!("must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified");
            faults.invalid(&path.child(POLICY), &spec[POLICY], detail);
        }
    }
    for (index, address) in items(spec, "/clusterIPs").iter().enumerate().skip(length(spec, "ipFamilies")) {
        if address.as_str().is_some_and(|address| address.parse::<Ipv6Addr>().is_ok()) {
            let path = path.child("clusterIPs").index(index);
            faults.invalid(&path, &spec["clusterIPs"], "IPv6 is not configured on this cluster");
        }
    }
}

fn only_known(spec: &Value, path: &Path, faults: &mut Faults) {
    if text(spec, POLICY) == REQUIRE {
        let detail = "this cluster is not configured for dual-stack services";
        faults.invalid(&path.child(POLICY), &spec[POLICY], detail);
    }
    for (path, family) in each(spec, "ipFamilies", path).filter(|(_, family)| *family == "IPv6") {
        faults.invalid(&path, family, "not configured on this cluster");
    }
}

fn length(spec: &Value, field: &str) -> usize {
    spec[field].as_array().map_or(0, Vec::len)
}
