//! What may be wrong with a Service and with changes of it.

use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv6Addr},
};

use serde_json::{Value, json};

use super::{checks_health, has_address, is_external, is_headless, kind};
use crate::api::{
    builtin::{
        endpoints::validate_endpoint_ip,
        forms::{each, form, ip, is_dual_stack, port_or_name, required_one_of, text},
    },
    fault::{Faults, Path},
    object::{is_empty, items},
    valid,
};

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const FAMILIES: [&str; 2] = ["IPv4", "IPv6"];
const POLICIES: [&str; 3] = ["PreferDualStack", "RequireDualStack", "SingleStack"];
const DISTRIBUTIONS: [&str; 3] = ["PreferClose", "PreferSameZone", "PreferSameNode"];
const ONLY_LOAD_BALANCER: &str = "may only be used when `type` is 'LoadBalancer'";

pub(super) fn validate(object: &Value, faults: &mut Faults) {
    let (spec, path) = (&object["spec"], Path::new("spec"));
    if is_empty(&spec["ports"]) && !is_headless(object) && has_address(object) {
        faults.required(&path.child("ports"), "");
    }
    match kind(object) {
        kind @ ("LoadBalancer" | "NodePort") if is_headless(object) => {
            let detail = format!("may not be set to 'None' for {kind} services");
            faults.invalid_text(&path.child("clusterIPs").index(0), "None", detail);
        }
        "ExternalName" => validate_external_name(spec, &path, faults),
        _ => {}
    }
    validate_ports(object, &path, faults);
    valid::labels(&spec["selector"], &path.child("selector"), faults);
    validate_affinity(spec, &path, faults);
    for (path, address) in each(spec, "externalIPs", &path) {
        let address = address.as_str().unwrap_or_default();
        if address.parse::<IpAddr>().is_ok() {
            validate_endpoint_ip(address, &path, faults);
        } else {
            ip(address, &path, faults);
        }
    }
    required_one_of(&spec["type"], &TYPES, &path.child("type"), faults);
    validate_load_balancer(object, &path, faults);
    validate_traffic(object, &path, faults);
}

fn validate_external_name(spec: &Value, path: &Path, faults: &mut Faults) {
    for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if !is_empty(&spec[field]) {
            faults.forbidden(&path.child(field), "may not be set for ExternalName services");
        }
    }
    let given = text(spec, "externalName");
    let domain = given.strip_suffix('.').unwrap_or(given);
    if domain.is_empty() {
        faults.required(&path.child("externalName"), "");
    } else if let Some(fault) = valid::dns_subdomain(domain) {
        faults.invalid_text(&path.child("externalName"), domain, fault);
    }
}

fn validate_ports(object: &Value, path: &Path, faults: &mut Faults) {
    let spec = &object["spec"];
    let several = items(spec, "/ports").len() > 1;
    let (mut names, mut numbers, mut node_ports) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for (path, port) in each(spec, "ports", path) {
        let (name, protocol) = (text(port, "name"), text(port, "protocol"));
        if several && name.is_empty() {
            faults.required(&path.child("name"), "");
        }
        form(port, "name", valid::dns_label, &path, faults);
        if !name.is_empty() && !names.insert(name) {
            faults.duplicate(&path.child("name"), &json!(name));
        }
        let number = port["port"].as_i64().unwrap_or_default();
        valid::port(&json!(number), &path.child("port"), faults);
        required_one_of(&port["protocol"], &["SCTP", "TCP", "UDP"], &path.child("protocol"), faults);
        // A target that follows a bad port is the same mistake, and the real server names both.
        port_or_name(&port["targetPort"], &path.child("targetPort"), faults);
        form(port, "appProtocol", valid::qualified_name, &path, faults);
        if !numbers.insert((protocol, number)) {
            faults.duplicate(&path, &json!({ "port": number, "protocol": protocol }));
        }
        let node_port = port["nodePort"].as_i64().unwrap_or_default();
        if node_port == 0 {
            continue;
        }
        if kind(object) == "ClusterIP" {
            faults.forbidden(&path.child("nodePort"), "may not be used when `type` is 'ClusterIP'");
        }
        if !node_ports.insert((protocol, node_port)) {
            faults.duplicate(&path.child("nodePort"), &json!(node_port));
        }
    }
}

fn validate_affinity(spec: &Value, path: &Path, faults: &mut Faults) {
    required_one_of(&spec["sessionAffinity"], &["ClientIP", "None"], &path.child("sessionAffinity"), faults);
    let timeout = &spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"];
    // A day.
    if timeout.as_i64().is_some_and(|seconds| !(1..=86_400).contains(&seconds)) {
        let path = path.child("sessionAffinityConfig").child("clientIP").child("timeoutSeconds");
        faults.invalid(&path, timeout, "must be greater than 0 and less than 86400");
    }
}

/// What may be wrong with addresses and families by themselves.
pub(super) fn validate_addresses(object: &Value, path: &Path, faults: &mut Faults) {
    let (spec, list) = (&object["spec"], path.child("clusterIPs"));
    let addresses = items(spec, "/clusterIPs");
    match (text(spec, "clusterIP"), addresses.first()) {
        ("", Some(_)) => {
            faults.invalid(&list, &spec["clusterIPs"], "must be empty when `clusterIP` is not specified");
        }
        ("", None) => {}
        (_, None) => faults.required(&list, ""),
        (address, Some(first)) if first != address => {
            faults.invalid(&list, &spec["clusterIPs"], "first value must match `clusterIP`");
        }
        _ => {}
    }
    for (index, address) in addresses.iter().enumerate() {
        match address.as_str().unwrap_or_default() {
            "None" if index == 0 => {
                if addresses.len() > 1 {
                    let detail = "'None' must be the first and only value";
                    faults.invalid(&list, &spec["clusterIPs"], detail);
                }
            }
            address => ip(address, &list.index(index), faults),
        }
    }
    if addresses.len() > 2 {
        faults.invalid(&list, &spec["clusterIPs"], "may only hold up to 2 values");
    }
    let texts: Vec<&str> = addresses.iter().filter_map(Value::as_str).collect();
    if addresses.len() == 2 && !is_dual_stack(&texts) {
        let detail = "may specify no more than one IP for each IP family";
        faults.invalid(&list, &spec["clusterIPs"], detail);
    }
    let mut seen = BTreeSet::new();
    for (path, family) in each(spec, "ipFamilies", path) {
        valid::one_of(family, &FAMILIES, &path, faults);
        if !seen.insert(family.as_str()) {
            faults.duplicate(&path, family);
        }
    }
    valid::one_of(&spec["ipFamilyPolicy"], &POLICIES, &path.child("ipFamilyPolicy"), faults);
    if is_headless(object) {
        return;
    }
    for (index, (address, family)) in addresses.iter().zip(items(spec, "/ipFamilies")).enumerate() {
        let is_v6 = address.as_str().is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
        if is_v6 != (family == "IPv6") {
            let family = family.as_str().unwrap_or_default();
            let detail = format!("expected an {family} value as indicated by `ipFamilies[{index}]`");
            faults.invalid(&list.index(index), address, detail);
        }
    }
}

fn validate_load_balancer(object: &Value, path: &Path, faults: &mut Faults) {
    let (spec, is_one) = (&object["spec"], kind(object) == "LoadBalancer");
    let ranges = path.child("LoadBalancerSourceRanges");
    if !is_one && !is_empty(&spec["loadBalancerSourceRanges"]) {
        faults.forbidden(&ranges, ONLY_LOAD_BALANCER);
    }
    for (index, range) in items(spec, "/loadBalancerSourceRanges").iter().enumerate() {
        if !is_range(range.as_str().unwrap_or_default().trim()) {
            let detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
            faults.invalid(&ranges.index(index), range, detail);
        }
    }
    if !is_one {
        for field in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
            if !spec[field].is_null() {
                faults.forbidden(&path.child(field), ONLY_LOAD_BALANCER);
            }
        }
    }
    if is_one {
        form(spec, "loadBalancerClass", valid::qualified_name, path, faults);
    }
}

fn is_range(text: &str) -> bool {
    text.split_once('/').is_some_and(|(address, bits)| {
        let most = match address.parse::<IpAddr>() {
            Ok(IpAddr::V4(_)) => 32,
            Ok(IpAddr::V6(_)) => 128,
            Err(_) => return false,
        };
        bits.parse::<u8>().is_ok_and(|bits| bits <= most)
    })
}

fn validate_traffic(object: &Value, path: &Path, faults: &mut Faults) {
    let spec = &object["spec"];
    let policies = ["Cluster", "Local"];
    let (external, external_path) = (&spec["externalTrafficPolicy"], path.child("externalTrafficPolicy"));
    if is_external(object) {
        required_one_of(external, &policies, &external_path, faults);
    } else if !is_empty(external) {
        faults.invalid(&external_path, external, "may only be set for externally-accessible services");
    }
    let (check, check_path) = (&spec["healthCheckNodePort"], path.child("healthCheckNodePort"));
    if checks_health(object) {
        if !is_empty(check) {
            valid::port(check, &check_path, faults);
        }
    } else if !is_empty(check) {
        let detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        faults.invalid(&check_path, check, detail);
    }
    valid::one_of(&spec["internalTrafficPolicy"], &policies, &path.child("internalTrafficPolicy"), faults);
    valid::one_of(&spec["trafficDistribution"], &DISTRIBUTIONS, &path.child("trafficDistribution"), faults);
}

/// An address, once given, stays; so does the class of a load balancer.
pub(super) fn validate_change(new: &Value, old: &Value, faults: &mut Faults) {
    let path = Path::new("spec");
    if has_address(new) && has_address(old) {
        let (is, was) = (items(new, "/spec/clusterIPs"), items(old, "/spec/clusterIPs"));
        let changed =
            |(index, was): (usize, &Value)| is.get(index).is_none_or(|is| is != was).then_some(index);
        for index in was.iter().enumerate().filter_map(changed) {
            let detail =
                if is.is_empty() { "primary clusterIP can not be unset" } else { "may not change once set" };
            faults.invalid(&path.child("clusterIPs").index(index), &new["spec"]["clusterIPs"], detail);
        }
        let (is, was) = (items(new, "/spec/ipFamilies"), items(old, "/spec/ipFamilies"));
        if !is_headless(new) && !is_headless(old) && !was.is_empty() && is.first() != was.first() {
            let detail = "may not change once set";
            faults.invalid(&path.child("ipFamilies").index(0), &new["spec"]["ipFamilies"], detail);
        }
    }
    if kind(new) == "LoadBalancer" && kind(old) == "LoadBalancer" {
        let (is, was) = (&new["spec"]["loadBalancerClass"], &old["spec"]["loadBalancerClass"]);
        if is != was {
            faults.invalid(&path.child("loadBalancerClass"), is, "may not change once set");
        }
    }
    if checks_health(new)
        && checks_health(old)
        && new["spec"]["healthCheckNodePort"] != old["spec"]["healthCheckNodePort"]
    {
        faults.forbidden(&path.child("healthCheckNodePort"), "field is immutable");
    }
}

pub(super) fn validate_status(new: &Value, faults: &mut Faults) {
    let (balancer, path) = (&new["status"]["loadBalancer"], Path::new("status.loadBalancer"));
    if kind(new) != "LoadBalancer" && !is_empty(&balancer["ingress"]) {
        faults.forbidden(&path.child("ingress"), "may only be used when `spec.type` is 'LoadBalancer'");
        return;
    }
    for (path, point) in each(balancer, "ingress", &path) {
        let (address, host) = (text(point, "ip"), text(point, "hostname"));
        if !address.is_empty() {
            ip(address, &path.child("ip"), faults);
        }
        form(point, "hostname", valid::dns_subdomain, &path, faults);
        if host.parse::<IpAddr>().is_ok() {
            faults.invalid_text(&path.child("hostname"), host, "must be a DNS name, not an IP address");
        }
        if address.is_empty() && !point["ipMode"].is_null() {
            faults.forbidden(&path.child("ipMode"), "may not be specified when `ip` is not set");
        }
        valid::one_of(&point["ipMode"], &["Proxy", "VIP"], &path.child("ipMode"), faults);
    }
}
