//! Service: a name and an address for a set of pods.
//!
//! Addresses and node ports come from pools that the server owns. This file says what a Service needs
//! (`needs_address`, `missing_node_ports`, `needs_health_check_port`) and how to put it in; who hands them out must
//! do so after `prepare_create` or `prepare_update` and before the object is stored.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::forms::text;
use crate::api::{
    behaviour::{AGE, Behaviour, Column, NAME, Names, Part, column, wide},
    fault::{Faults, Path},
    object::{age, child, default, fill, is_empty, items, keep_other_part, keep_spec, name, restore},
};

mod families;
mod validate;

pub use families::settle_families;

pub struct Service;

const COLUMNS: &[Column] = &[
    NAME,
    column("Type", "string", "type determines how the Service is exposed."),
    column("Cluster-IP", "string", "clusterIP is the IP address of the service."),
    column("External-IP", "string", "externalIPs is a list of IP addresses that also accept traffic."),
    column("Port(s)", "string", "The list of ports that are exposed by this service."),
    AGE,
    wide(
        "Selector",
        "string",
        "Route service traffic to pods with label keys and values matching this selector.",
    ),
];

impl Behaviour for Service {
    fn names(&self) -> Names {
        Names::Label
    }

    fn default(&self, object: &mut Value) {
        default(object, "spec", json!({}));
        if object["spec"].is_object() {
            default_spec(&mut object["spec"]);
        }
        default(object, "status", json!({}));
        default(&mut object["status"], "loadBalancer", json!({}));
        if kind(object) == "LoadBalancer" {
            let ingress = object.pointer_mut("/status/loadBalancer/ingress").and_then(Value::as_array_mut);
            for point in ingress.into_iter().flatten().filter(|point| !text(point, "ip").is_empty()) {
                default(point, "ipMode", "VIP");
            }
        }
    }

    fn prepare_create(&self, object: &mut Value) {
        object["status"] = json!({ "loadBalancer": {} });
        let spec = &mut object["spec"];
        if !text(spec, "clusterIP").is_empty() && is_empty(&spec["clusterIPs"]) {
            spec["clusterIPs"] = json!([spec["clusterIP"]]);
        }
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, part: Part) {
        match part {
            Part::Main => {
                keep_other_part(new, old, part);
                carry_over(new, old);
                drop_what_the_type_has_no_use_for(new, old);
                follow_address(new, old);
            }
            Part::Status => keep_spec(new, old),
        }
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        validate::validate(object, faults);
    }

    fn validate_update(&self, new: &Value, old: &Value, part: Part, faults: &mut Faults) {
        match part {
            Part::Main => validate::validate_change(new, old, faults),
            Part::Status => validate::validate_status(new, faults),
        }
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        warnings(object)
    }

    fn has_status(&self) -> bool {
        true
    }

    fn create_on_update(&self) -> bool {
        true
    }

    fn fields(&self, object: &Value) -> Vec<(&'static str, String)> {
        vec![
            ("spec.clusterIP", text(&object["spec"], "clusterIP").to_owned()),
            ("spec.type", kind(object).to_owned()),
        ]
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let address = items(object, "/spec/clusterIPs").first().and_then(Value::as_str).unwrap_or("<none>");
        vec![
            name(object).into(),
            kind(object).into(),
            address.into(),
            external_addresses(object).into(),
            ports(object).into(),
            age(object, now).into(),
            selector(object).into(),
        ]
    }
}

/// Whether an address must be given to it.
pub fn needs_address(object: &Value) -> bool {
    has_address(object) && text(&object["spec"], "clusterIP").is_empty()
}

/// The addresses that a Service holds, to be kept from others and given back when it goes.
pub fn addresses(object: &Value) -> impl Iterator<Item = &str> {
    items(object, "/spec/clusterIPs").iter().filter_map(Value::as_str).filter(|address| *address != "None")
}

/// Gives a Service its address.
pub fn set_address(object: &mut Value, address: &str) {
    object["spec"]["clusterIP"] = address.into();
    object["spec"]["clusterIPs"] = json!([address]);
}

/// The ports, by their place in `spec.ports`, that must be given a node port.
pub fn missing_node_ports(object: &Value) -> Vec<usize> {
    if !uses_node_ports(object) {
        return Vec::new();
    }
    let ports = items(object, "/spec/ports").iter().enumerate();
    ports.filter(|(_, port)| is_empty(&port["nodePort"])).map(|(index, _)| index).collect()
}

/// The node ports that a Service holds, with their protocols: TCP and UDP are two pools.
pub fn node_ports(object: &Value) -> impl Iterator<Item = (&str, i64)> {
    let ports = items(object, "/spec/ports").iter();
    let ports = ports.filter_map(|port| Some((text(port, "protocol"), port["nodePort"].as_i64()?)));
    let check = object["spec"]["healthCheckNodePort"].as_i64().map(|port| ("TCP", port));
    ports.chain(check).filter(|(_, port)| *port != 0)
}

/// Gives a port its node port.
pub fn set_node_port(object: &mut Value, index: usize, port: u16) {
    if let Some(field) = object.pointer_mut(&format!("/spec/ports/{index}")) {
        field["nodePort"] = port.into();
    }
}

/// Whether a port for health checks must be given to it; it goes to `spec.healthCheckNodePort`.
pub fn needs_health_check_port(object: &Value) -> bool {
    checks_health(object) && is_empty(&object["spec"]["healthCheckNodePort"])
}

/// What to say if an address that a client asks for is taken or out of range.
pub fn refuse_address(object: &Value, why: &str, faults: &mut Faults) {
    let address = text(&object["spec"], "clusterIP");
    let detail = format!("failed to allocate IP {address}: {why}");
    faults.invalid(&Path::new("spec.clusterIPs"), &object["spec"]["clusterIPs"], detail);
}

/// What to say if a node port that a client asks for is taken or out of range.
pub fn refuse_node_port(object: &Value, index: usize, why: &str, faults: &mut Faults) {
    let path = Path::new("spec.ports").index(index).child("nodePort");
    faults.invalid(&path, &object["spec"]["ports"][index]["nodePort"], why);
}

fn kind(object: &Value) -> &str {
    text(&object["spec"], "type")
}

fn has_address(object: &Value) -> bool {
    kind(object) != "ExternalName"
}

fn is_headless(object: &Value) -> bool {
    matches!(items(object, "/spec/clusterIPs"), [address] if address == "None")
}

fn uses_node_ports(object: &Value) -> bool {
    match kind(object) {
        "NodePort" => true,
        "LoadBalancer" => object["spec"]["allocateLoadBalancerNodePorts"] != false,
        _ => false,
    }
}

fn checks_health(object: &Value) -> bool {
    kind(object) == "LoadBalancer" && object["spec"]["externalTrafficPolicy"] == "Local"
}

/// Whether it can be reached from outside the cluster.
fn is_external(object: &Value) -> bool {
    match kind(object) {
        "NodePort" | "LoadBalancer" => true,
        "ClusterIP" => !items(object, "/spec/externalIPs").is_empty(),
        _ => false,
    }
}

fn default_spec(spec: &mut Value) {
    fill(spec, "type", "ClusterIP");
    fill(spec, "sessionAffinity", "None");
    match text(spec, "sessionAffinity") {
        "None" => {
            if let Some(spec) = spec.as_object_mut() {
                spec.remove("sessionAffinityConfig");
            }
        }
        "ClientIP" if spec.pointer("/sessionAffinityConfig/clientIP/timeoutSeconds").is_none() => {
            // Three hours.
            spec["sessionAffinityConfig"] = json!({ "clientIP": { "timeoutSeconds": 10_800 } });
        }
        _ => {}
    }
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        fill(port, "protocol", "TCP");
        let number = port["port"].clone();
        fill(port, "targetPort", number);
    }
    let wrapped = json!({ "spec": spec.clone() });
    if is_external(&wrapped) {
        fill(spec, "externalTrafficPolicy", "Cluster");
    }
    if has_address(&wrapped) {
        default(spec, "internalTrafficPolicy", "Cluster");
    }
    if kind(&wrapped) == "LoadBalancer" {
        default(spec, "allocateLoadBalancerNodePorts", true);
    }
}

/// Who replaces a Service without knowing what was allocated for it does not lose it.
fn carry_over(new: &mut Value, old: &Value) {
    let none = Map::new();
    let kept = old["spec"].as_object().unwrap_or(&none);
    if has_address(old) && has_address(new) {
        for field in ["clusterIP", "clusterIPs"] {
            carry_field(new, kept, field);
        }
    }
    if checks_health(old) && checks_health(new) {
        carry_field(new, kept, "healthCheckNodePort");
    }
    if !uses_node_ports(old) || !uses_node_ports(new) {
        return;
    }
    let held = |object: &Value| -> BTreeSet<i64> {
        items(object, "/spec/ports").iter().filter_map(|port| port["nodePort"].as_i64()).collect()
    };
    let taken: BTreeSet<_> = held(old).intersection(&held(new)).copied().collect();
    let named: BTreeMap<_, _> = items(old, "/spec/ports")
        .iter()
        .map(|port| (text(port, "name"), port["nodePort"].as_i64()))
        .collect();
    let ports = new.pointer_mut("/spec/ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter(|port| is_empty(&port["nodePort"])) {
        let before = named.get(text(port, "name")).copied().flatten();
        if let Some(number) = before.filter(|number| !taken.contains(number)) {
            port["nodePort"] = number.into();
        }
    }
}

fn carry_field(new: &mut Value, kept: &Map<String, Value>, field: &str) {
    if let Some(spec) = child(new, "spec")
        && spec.get(field).is_none_or(is_empty)
    {
        restore(spec, kept, field);
    }
}

/// A change of type leaves fields behind that the client did not think of. Those go, unless they changed too.
fn drop_what_the_type_has_no_use_for(new: &mut Value, old: &Value) {
    let mut obsolete = Vec::new();
    if has_address(old) && !has_address(new) {
        obsolete.extend(["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"]);
    }
    if checks_health(old) && !checks_health(new) {
        obsolete.push("healthCheckNodePort");
    }
    if kind(old) == "LoadBalancer" && kind(new) != "LoadBalancer" {
        obsolete.extend(["allocateLoadBalancerNodePorts", "loadBalancerClass"]);
        new["status"]["loadBalancer"] = json!({});
    }
    if is_external(old) && !is_external(new) {
        obsolete.push("externalTrafficPolicy");
    }
    let node_ports = |object: &Value| -> BTreeSet<i64> {
        items(object, "/spec/ports").iter().filter_map(|port| port["nodePort"].as_i64()).collect()
    };
    if uses_node_ports(old) && !uses_node_ports(new) && node_ports(old) == node_ports(new) {
        let ports = new.pointer_mut("/spec/ports").and_then(Value::as_array_mut);
        for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
            port.remove("nodePort");
        }
    }
    if let Some(spec) = child(new, "spec") {
        for field in obsolete {
            if spec.get(field) == old["spec"].get(field) {
                spec.remove(field);
            }
        }
    }
}

/// `clusterIP` and the first of `clusterIPs` are one thing: who changed one of them meant both.
fn follow_address(new: &mut Value, old: &Value) {
    let (was, spec) = (&old["spec"], &mut new["spec"]);
    if !text(spec, "clusterIP").is_empty()
        && spec["clusterIP"] != was["clusterIP"]
        && (spec["clusterIPs"] == was["clusterIPs"] || is_empty(&spec["clusterIPs"]))
    {
        spec["clusterIPs"] = json!([spec["clusterIP"]]);
    }
}

fn warnings(object: &Value) -> Vec<String> {
    let spec = &object["spec"];
    let external = !is_empty(&spec["externalIPs"]);
    let named = kind(object) == "ExternalName";
    let headless = kind(object) == "ClusterIP" && text(spec, "clusterIP") == "None";
    [
        (
            headless && !text(spec, "loadBalancerIP").is_empty(),
            "spec.loadBalancerIP is ignored for headless services",
        ),
        (headless && external, "spec.externalIPs is ignored for headless services"),
        (
            headless && text(spec, "sessionAffinity") != "None",
            "spec.SessionAffinity is ignored for headless services",
        ),
        (
            external && !headless && !named,
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
        ),
        (external && named, "spec.externalIPs is ignored when spec.type is \"ExternalName\""),
        (
            !named && !text(spec, "externalName").is_empty(),
            "spec.externalName is ignored when spec.type is not \"ExternalName\"",
        ),
        (
            text(spec, "trafficDistribution") == "PreferClose",
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"",
        ),
    ]
    .into_iter()
    .filter(|(applies, _)| *applies)
    .map(|(_, warning)| warning.to_owned())
    .collect()
}

fn external_addresses(object: &Value) -> String {
    let own = items(object, "/spec/externalIPs").iter().filter_map(Value::as_str);
    match kind(object) {
        "ClusterIP" | "NodePort" => joined(own, "<none>"),
        "LoadBalancer" => {
            let point = |point: &'_ Value| match text(point, "ip") {
                "" => text(point, "hostname").to_owned(),
                ip => ip.to_owned(),
            };
            let given: BTreeSet<_> =
                items(object, "/status/loadBalancer/ingress").iter().map(point).collect();
            let given = given.iter().map(String::as_str).filter(|address| !address.is_empty());
            joined(given.chain(own), "<pending>")
        }
        "ExternalName" => text(&object["spec"], "externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

fn joined<'a>(parts: impl Iterator<Item = &'a str>, none: &str) -> String {
    let parts: Vec<_> = parts.collect();
    if parts.is_empty() { none.to_owned() } else { parts.join(",") }
}

/// `80/TCP,443:30443/TCP`
fn ports(object: &Value) -> String {
    let port = |port: &Value| {
        let (number, protocol) = (&port["port"], text(port, "protocol"));
        match port["nodePort"].as_i64() {
            Some(node @ 1..) => format!("{number}:{node}/{protocol}"),
            _ => format!("{number}/{protocol}"),
        }
    };
    let ports: Vec<_> = items(object, "/spec/ports").iter().map(port).collect();
    joined(ports.iter().map(String::as_str), "<none>")
}

/// `app=web,tier=front`
fn selector(object: &Value) -> String {
    let labels = object["spec"]["selector"].as_object().into_iter().flatten();
    let labels: Vec<_> =
        labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    joined(labels.iter().map(String::as_str), "<none>")
}

#[cfg(test)]
mod tests;
