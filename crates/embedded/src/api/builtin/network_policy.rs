//! NetworkPolicy: which traffic pods allow. Stored; the loopback network of the local node has no filter.

use std::net::IpAddr;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    forms::{each, port_name, required},
    selector, workload,
};
use crate::api::{
    behaviour::{AGE, Behaviour, Column, NAME, column},
    fault::{Faults, Path},
    object, valid,
};

pub struct NetworkPolicy;

const COLUMNS: &[Column] = &[NAME, column("Pod-Selector", "string", "The pods it applies to."), AGE];

/// The lists of rules, and where in a rule the other side stands.
const DIRECTIONS: [(&str, &str); 2] = [("ingress", "from"), ("egress", "to")];

impl Behaviour for NetworkPolicy {
    fn default(&self, object: &mut Value) {
        let Some(spec) = workload::within(object, "spec") else { return };
        workload::within(spec, "podSelector");
        let egress = !object::is_empty(&spec["egress"]);
        let types = if egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
        object::fill(spec, "policyTypes", types);
        for (direction, _) in DIRECTIONS {
            let rules = spec.get_mut(direction).and_then(Value::as_array_mut).into_iter().flatten();
            for port in rules.filter_map(|rule| rule.get_mut("ports")?.as_array_mut()).flatten() {
                object::default(port, "protocol", "TCP");
            }
        }
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        let (spec, path) = (&object["spec"], Path::new("spec"));
        valid::label_selector(&spec["podSelector"], &path.child("podSelector"), faults);
        for (direction, side) in DIRECTIONS {
            for (path, rule) in each(spec, direction, &path) {
                for (path, port) in each(rule, "ports", &path) {
                    validate_port(port, &path, faults);
                }
                for (path, peer) in each(rule, side, &path) {
                    validate_peer(peer, &path, faults);
                }
            }
        }
        if object::items(spec, "/policyTypes").len() > 2 {
            let detail = "may not specify more than two policyTypes";
            return faults.invalid(&path.child("policyTypes"), &spec["policyTypes"], detail);
        }
        for (path, kind) in each(spec, "policyTypes", &path) {
            valid::one_of(kind, &["Ingress", "Egress"], &path, faults);
        }
    }

    fn has_generation(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let pods = selector::cell(&object["spec"]["podSelector"]);
        vec![object::name(object).into(), pods.into(), object::age(object, now).into()]
    }
}

fn validate_port(port: &Value, path: &Path, faults: &mut Faults) {
    valid::one_of(&port["protocol"], &["TCP", "UDP", "SCTP"], &path.child("protocol"), faults);
    let (end, end_path) = (&port["endPort"], path.child("endPort"));
    match &port["port"] {
        Value::Null => {
            if !end.is_null() {
                faults.invalid(&end_path, end, "may not be specified when `port` is not specified");
            }
        }
        Value::String(name) => {
            if !end.is_null() {
                faults.invalid(&end_path, end, "may not be specified when `port` is non-numeric");
            }
            for message in port_name(name) {
                faults.invalid_text(&path.child("port"), name, message);
            }
        }
        number => {
            valid::port(number, &path.child("port"), faults);
            if end.as_i64().is_some_and(|end| end < number.as_i64().unwrap_or(0)) {
                faults.invalid(&end_path, number, "must be greater than or equal to `port`");
            }
            valid::port(end, &end_path, faults);
        }
    }
}

fn validate_peer(peer: &Value, path: &Path, faults: &mut Faults) {
    let selectors = ["podSelector", "namespaceSelector"];
    for field in selectors {
        valid::label_selector(&peer[field], &path.child(field), faults);
    }
    let selects = selectors.iter().any(|field| !peer[*field].is_null());
    match (selects, peer["ipBlock"].is_null()) {
        (false, true) => faults.required(path, "must specify a peer"),
        (selects, false) => {
            validate_block(&peer["ipBlock"], &path.child("ipBlock"), faults);
            if selects {
                faults.forbidden(path, "may not specify both ipBlock and another peer");
            }
        }
        (true, true) => {}
    }
}

fn validate_block(block: &Value, path: &Path, faults: &mut Faults) {
    let cidr = required(block, "cidr", path, faults);
    if cidr.is_empty() {
        return;
    }
    let Some(whole) = validate_cidr(cidr, &path.child("cidr"), faults) else { return };
    for (path, except) in each(block, "except", path) {
        let except = except.as_str().unwrap_or_default();
        if let Some(part) = validate_cidr(except, &path, faults)
            && !(whole.contains(&part) && whole.length < part.length)
        {
            faults.invalid_text(&path, except, "must be a strict subset of `cidr`");
        }
    }
}

/// A range of addresses.
struct Cidr {
    /// The network, in as many low bits as the family has.
    bits: u128,
    width: u32,
    length: u32,
}

impl Cidr {
    fn parse(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/')?;
        let (bits, width) = match address.parse().ok()? {
            IpAddr::V4(ip) => (u128::from(ip.to_bits()), 32),
            IpAddr::V6(ip) => (ip.to_bits(), 128),
        };
        // Go's parser takes no sign and no leading zero here.
        let plain = length == "0" || !length.starts_with(['0', '+']);
        let length: u32 = length.parse().ok().filter(|length| plain && *length <= width)?;
        Some(Self { bits, width, length })
    }

    fn mask(&self) -> u128 {
        let host = self.width - self.length;
        if host >= 128 { 0 } else { u128::MAX << host }
    }

    fn contains(&self, other: &Self) -> bool {
        self.width == other.width && self.bits & self.mask() == other.bits & self.mask()
    }
}

fn validate_cidr(text: &str, path: &Path, faults: &mut Faults) -> Option<Cidr> {
    let cidr = Cidr::parse(text);
    match &cidr {
        None => {
            let detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
            faults.invalid_text(path, text, detail);
        }
        Some(cidr) if cidr.bits & !cidr.mask() != 0 => {
            faults.invalid_text(path, text, "must not have bits set beyond the prefix length");
        }
        Some(_) => {}
    }
    cidr
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(peer: Value) -> Vec<String> {
        let mut faults = Faults::default();
        NetworkPolicy.validate(&json!({ "spec": { "ingress": [{ "from": [peer] }] } }), &mut faults);
        faults.iter().map(|fault| fault.message.clone()).collect()
    }

    #[test]
    fn exceptions_are_parts_of_their_block() {
        let block =
            |cidr: &str, except: &str| faults(json!({ "ipBlock": { "cidr": cidr, "except": [except] } }));
        assert!(
            block("192.0.2.0/24", "192.0.2.128/25").is_empty() && block("::/0", "2001:db8::/32").is_empty()
        );
        for (cidr, except) in [
            ("192.0.2.0/24", "192.0.3.0/25"),
            ("192.0.2.0/24", "192.0.2.0/24"),
            ("192.0.2.0/24", "2001:db8::/32"),
            ("192.0.2.1/24", "192.0.2.0/25"),
            ("192.0.2.0", "192.0.2.0/25"),
            ("192.0.2.0/33", "192.0.2.0/25"),
        ] {
            assert_eq!(block(cidr, except).len(), 1, "{cidr} {except}");
        }
    }

    #[test]
    fn a_peer_is_selected_or_an_address() {
        assert_eq!(faults(json!({})), ["Required value: must specify a peer"]);
        assert!(faults(json!({ "podSelector": {}, "namespaceSelector": {} })).is_empty());
        let both = faults(json!({ "podSelector": {}, "ipBlock": { "cidr": "192.0.2.0/24" } }));
        assert_eq!(both, ["Forbidden: may not specify both ipBlock and another peer"]);
    }
}
