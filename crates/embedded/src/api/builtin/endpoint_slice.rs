//! EndpointSlice: addresses behind a Service.

use std::net::IpAddr;

use jiff::Timestamp;
use serde_json::Value;

use super::{
    forms::{each, form, text},
    workload,
};
use crate::api::{
    behaviour::{AGE, Behaviour, Column, NAME, Part, column},
    fault::{Faults, Path},
    object, valid,
};

pub struct EndpointSlice;

const COLUMNS: &[Column] = &[
    NAME,
    column("AddressType", "string", "IPv4, IPv6 or FQDN."),
    column("Ports", "string", "Ports that the endpoints serve."),
    column("Endpoints", "string", "Addresses of the endpoints."),
    AGE,
];

const MAX_ADDRESSES: usize = 100;
const MAX_PORTS: usize = 20_000;
const MAX_ENDPOINTS: usize = 1000;
const MAX_HINTS: usize = 8;

impl Behaviour for EndpointSlice {
    fn default(&self, object: &mut Value) {
        let Some(fields) = object.as_object_mut() else { return };
        for list in ["endpoints", "ports"] {
            if fields.get(list).is_none_or(object::is_empty) {
                fields.insert(list.to_owned(), Value::Null);
            }
        }
        for endpoint in object["endpoints"].as_array_mut().into_iter().flatten() {
            workload::within(endpoint, "conditions");
        }
        for port in object["ports"].as_array_mut().into_iter().flatten() {
            object::default(port, "name", "");
            object::default(port, "protocol", "TCP");
        }
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        let path = Path::new("addressType");
        match text(object, "addressType") {
            "" => faults.required(&path, ""),
            _ => valid::one_of(&object["addressType"], &["FQDN", "IPv4", "IPv6"], &path, faults),
        }
        validate_ports(object, faults);
        validate_endpoints(object, faults);
    }

    fn validate_update(&self, new: &Value, old: &Value, _part: Part, faults: &mut Faults) {
        valid::immutable(&new["addressType"], &old["addressType"], &Path::new("addressType"), faults);
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let deprecated = old.is_none() && object["addressType"] == "FQDN";
        deprecated.then(|| "spec.addressType: FQDN endpoints are deprecated".to_owned()).into_iter().collect()
    }

    fn has_generation(&self) -> bool {
        true
    }

    fn counts(&self, new: &Value, old: &Value) -> bool {
        ["addressType", "endpoints", "ports"].iter().any(|field| new[*field] != old[*field])
            || new["metadata"]["labels"] != old["metadata"]["labels"]
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let ports = object::items(object, "/ports").iter().map(|port| match port["port"].as_i64() {
            Some(number) => number.to_string(),
            None => port["name"].as_str().unwrap_or("*").to_owned(),
        });
        let addresses = object::items(object, "/endpoints")
            .iter()
            .flat_map(|endpoint| object::items(endpoint, "/addresses"))
            .map(|address| address.as_str().unwrap_or_default().to_owned());
        vec![
            object::name(object).into(),
            text(object, "addressType").into(),
            first_three(ports.collect()).into(),
            first_three(addresses.collect()).into(),
            object::age(object, now).into(),
        ]
    }
}

/// `a,b,c + 2 more...`
fn first_three(all: Vec<String>) -> String {
    match all.len() {
        0 => "<unset>".to_owned(),
        1..=3 => all.join(","),
        more => format!("{} + {} more...", all[..3].join(","), more - 3),
    }
}

fn validate_ports(slice: &Value, faults: &mut Faults) {
    let count = object::items(slice, "/ports").len();
    if count > MAX_PORTS {
        return faults.too_many(&Path::new("ports"), count as u64, MAX_PORTS as u64);
    }
    let mut names = std::collections::BTreeSet::new();
    for (path, port) in each(slice, "ports", &Path::root()) {
        form(port, "name", valid::dns_label, &path, faults);
        if !names.insert(text(port, "name")) {
            faults.duplicate(&path.child("name"), &port["name"]);
        }
        valid::one_of(&port["protocol"], &["SCTP", "TCP", "UDP"], &path.child("protocol"), faults);
        form(port, "appProtocol", valid::qualified_name, &path, faults);
    }
}

fn validate_endpoints(slice: &Value, faults: &mut Faults) {
    let count = object::items(slice, "/endpoints").len();
    if count > MAX_ENDPOINTS {
        return faults.too_many(&Path::new("endpoints"), count as u64, MAX_ENDPOINTS as u64);
    }
    for (path, endpoint) in each(slice, "endpoints", &Path::root()) {
        let (addresses, place) = (object::items(endpoint, "/addresses"), path.child("addresses"));
        if addresses.is_empty() {
            faults.required(&place, "must contain at least 1 address");
        } else if addresses.len() > MAX_ADDRESSES {
            faults.too_many(&place, addresses.len() as u64, MAX_ADDRESSES as u64);
        }
        for (index, address) in addresses.iter().enumerate().take(MAX_ADDRESSES) {
            validate_address(address, text(slice, "addressType"), &place, index, faults);
        }
        form(endpoint, "nodeName", valid::dns_subdomain, &path, faults);
        form(endpoint, "hostname", valid::dns_label, &path, faults);
        validate_hints(&endpoint["hints"], &path.child("hints"), faults);
    }
}

/// Upstream refuses loopback addresses here; pods of the local node have nothing else.
fn validate_address(address: &Value, kind: &str, list: &Path, index: usize, faults: &mut Faults) {
    let path = &list.index(index);
    let text = address.as_str().unwrap_or_default();
    match (kind, text.parse::<IpAddr>()) {
        ("IPv4" | "IPv6", Err(_)) => {
            faults.invalid(path, address, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
        }
        ("IPv4", Ok(ip)) if !ip.is_ipv4() => faults.invalid(list, address, "must be an IPv4 address"),
        ("IPv6", Ok(ip)) if !ip.is_ipv6() => faults.invalid(list, address, "must be an IPv6 address"),
        ("IPv4" | "IPv6", Ok(ip)) => {
            let link_local = match ip {
                IpAddr::V4(ip) => ip.is_link_local(),
                IpAddr::V6(ip) => ip.is_unicast_link_local(),
            };
            if ip.is_unspecified() {
                faults.invalid(path, address, format!("may not be unspecified ({text})"));
            }
            if link_local {
                faults.invalid(
                    path,
                    address,
                    "may not be in the link-local range (169.254.0.0/16, fe80::/10)",
                );
            }
        }
        ("FQDN", _) => {
            let name = text.strip_suffix('.').unwrap_or(text);
            if let Some(fault) = valid::dns_subdomain(name) {
                faults.invalid_text(path, name, fault);
            } else if !name.contains('.') {
                let detail = "should be a domain with at least two segments separated by dots";
                faults.invalid_text(path, name, detail);
            }
        }
        _ => {}
    }
}

fn validate_hints(hints: &Value, path: &Path, faults: &mut Faults) {
    for list in ["forZones", "forNodes"] {
        let count = hints[list].as_array().map_or(0, Vec::len);
        if count > MAX_HINTS {
            return faults.too_many(&path.child(list), count as u64, MAX_HINTS as u64);
        }
        let mut names = Vec::new();
        for (path, hint) in each(hints, list, path) {
            let name = text(hint, "name");
            if names.contains(&name) {
                faults.duplicate(&path.child("name"), &hint["name"]);
            }
            names.push(name);
            let check = if list == "forZones" { valid::label_value } else { valid::dns_subdomain };
            if let Some(fault) = check(name) {
                faults.invalid_text(&path.child("name"), name, fault);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn addresses_are_of_the_slices_type() {
        let slice = |kind: &str, address: &str| {
            let mut slice = json!({ "addressType": kind, "endpoints": [{ "addresses": [address] }] });
            EndpointSlice.default(&mut slice);
            let mut faults = Faults::default();
            EndpointSlice.validate(&slice, &mut faults);
            faults.len()
        };
        for (kind, address) in [("IPv4", "127.3.0.1"), ("IPv6", "2001:db8::1"), ("FQDN", "a.example.")] {
            assert_eq!(slice(kind, address), 0, "{kind} {address}");
        }
        for (kind, address) in [
            ("IPv4", "2001:db8::1"),
            ("IPv4", "0.0.0.0"),
            ("IPv4", "01.2.3.4"),
            ("IPv6", "fe80::1"),
            ("FQDN", "a"),
        ] {
            assert_eq!(slice(kind, address), 1, "{kind} {address}");
        }
    }

    #[test]
    fn cells_show_three_addresses_at_most() {
        let endpoint = |address: &str| json!({ "addresses": [address] });
        let slice = json!({
            "metadata": { "name": "a" }, "addressType": "IPv4",
            "endpoints": [endpoint("a"), endpoint("b"), endpoint("c"), endpoint("d"), endpoint("e")],
            "ports": null
        });
        let cells = EndpointSlice.cells(&slice, Timestamp::UNIX_EPOCH);
        assert_eq!(json!(cells[1..4]), json!(["IPv4", "<unset>", "a,b,c + 2 more..."]));
    }
}
