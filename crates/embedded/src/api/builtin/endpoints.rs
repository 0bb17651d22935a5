//! Endpoints: the addresses behind a Service, in the form that came before EndpointSlice.

use std::net::IpAddr;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::forms::{each, form, ip, required_one_of, text};
use crate::api::{
    behaviour::{AGE, Behaviour, Column, NAME, column},
    fault::{Faults, Path},
    object::{age, fill, is_empty, items, name},
    valid,
};

pub struct Endpoints;

const COLUMNS: &[Column] =
    &[NAME, column("Endpoints", "string", "The set of all endpoints is the union of all subsets."), AGE];
/// Addresses that a table shows of an object.
const SHOWN: usize = 3;

impl Behaviour for Endpoints {
    fn default(&self, object: &mut Value) {
        for subset in object.get_mut("subsets").and_then(Value::as_array_mut).into_iter().flatten() {
            for port in subset.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
                fill(port, "protocol", "TCP");
            }
        }
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        for (path, subset) in each(object, "subsets", &Path::root()) {
            if is_empty(&subset["addresses"]) && is_empty(&subset["notReadyAddresses"]) {
                faults.required(&path, "must specify `addresses` or `notReadyAddresses`");
            }
            for field in ["addresses", "notReadyAddresses"] {
                for (path, address) in each(subset, field, &path) {
                    validate_address(address, &path, faults);
                }
            }
            let several = subset["ports"].as_array().is_some_and(|ports| ports.len() > 1);
            for (path, port) in each(subset, "ports", &path) {
                validate_port(port, several, &path, faults);
            }
        }
    }

    fn warnings(&self, _object: &Value, _old: Option<&Value>) -> Vec<String> {
        vec!["v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice".to_owned()]
    }

    fn create_on_update(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        vec![name(object).into(), summary(object).into(), age(object, now).into()]
    }
}

fn validate_address(address: &Value, path: &Path, faults: &mut Faults) {
    let (value, ip_path) = (text(address, "ip"), path.child("ip"));
    ip(value, &ip_path, faults);
    validate_endpoint_ip(value, &ip_path, faults);
    form(address, "hostname", valid::dns_label, path, faults);
    form(address, "nodeName", valid::dns_subdomain, path, faults);
}

/// Addresses that lead nowhere, or to the one who asks.
pub(super) fn validate_endpoint_ip(value: &str, path: &Path, faults: &mut Faults) {
    let Ok(address) = value.parse::<IpAddr>() else {
        faults.invalid_text(path, value, "must be a valid IP address");
        return;
    };
    let link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    let link_multicast = match address {
        IpAddr::V4(address) => address.octets()[..3] == [224, 0, 0],
        IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
    };
    for (wrong, detail) in [
        (address.is_unspecified(), format!("may not be unspecified ({value})")),
        (address.is_loopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)".to_owned()),
        (link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned()),
        (link_multicast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned()),
    ] {
        if wrong {
            faults.invalid_text(path, value, detail);
        }
    }
}

fn validate_port(port: &Value, named: bool, path: &Path, faults: &mut Faults) {
    if named && text(port, "name").is_empty() {
        faults.required(&path.child("name"), "");
    }
    form(port, "name", valid::dns_label, path, faults);
    valid::port(&json!(port["port"].as_i64().unwrap_or_default()), &path.child("port"), faults);
    required_one_of(&port["protocol"], &["SCTP", "TCP", "UDP"], &path.child("protocol"), faults);
    form(port, "appProtocol", valid::qualified_name, path, faults);
}

/// `10.0.0.1:80,10.0.0.2:80 + 3 more...`
fn summary(object: &Value) -> String {
    let subsets = items(object, "/subsets");
    if subsets.is_empty() {
        return "<none>".to_owned();
    }
    let (mut shown, mut count) = (Vec::new(), 0);
    for subset in subsets {
        let addresses = items(subset, "/addresses");
        let ports = items(subset, "/ports");
        let ports: Vec<_> = if ports.is_empty() {
            vec![None]
        } else {
            ports.iter().map(|port| Some(&port["port"])).collect()
        };
        for port in ports {
            count += addresses.len();
            for address in addresses.iter().take(SHOWN - shown.len()) {
                let host = text(address, "ip");
                shown.push(match port {
                    None => host.to_owned(),
                    Some(port) if host.contains(':') => format!("[{host}]:{port}"),
                    Some(port) => format!("{host}:{port}"),
                });
            }
        }
    }
    let list = shown.join(",");
    if count > SHOWN { format!("{list} + {} more...", count - SHOWN) } else { list }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_shows_three_addresses() {
        let subset = |count: u8| {
            let addresses: Vec<_> = (1..=count).map(|n| json!({ "ip": format!("10.0.0.{n}") })).collect();
            json!({ "subsets": [{ "addresses": addresses, "ports": [{ "port": 80 }] }] })
        };
        assert_eq!(summary(&json!({})), "<none>");
        assert_eq!(summary(&subset(1)), "10.0.0.1:80");
        assert_eq!(summary(&subset(5)), "10.0.0.1:80,10.0.0.2:80,10.0.0.3:80 + 2 more...");
    }

    #[test]
    fn addresses_must_lead_somewhere() {
        let mut object = json!({ "subsets": [{ "addresses": [{ "ip": "127.0.0.1" }, { "ip": "x" }] }, {}] });
        Endpoints.default(&mut object);
        let mut faults = Faults::default();
        Endpoints.validate(&object, &mut faults);
        let mut fields: Vec<_> = faults.iter().map(|fault| fault.field.as_str()).collect();
        fields.dedup();
        assert_eq!(fields, ["subsets[0].addresses[0].ip", "subsets[0].addresses[1].ip", "subsets[1]"]);
    }
}
