//! Slices that follow Endpoints which somebody wrote by hand. Pure.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::plan::Group;
use crate::controllers::records::Endpoints;

const SKIP: &str = "endpointslice.kubernetes.io/skip-mirror";
/// Leaders were once elected by annotating Endpoints, which lead nowhere.
const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";
/// The most addresses of a subset that are followed, as upstream has it.
const MOST: usize = 1000;

/// Whether these Endpoints, of a Service that does not choose its pods, are to be followed.
pub fn wanted(endpoints: &Endpoints) -> bool {
    let labels = endpoints.metadata.labels.as_ref();
    let label = |key: &str| labels.and_then(|labels| labels.get(key));
    let annotations = endpoints.metadata.annotations.as_ref();
    label(SKIP).is_none_or(|skip| skip != "true")
        && annotations.is_none_or(|annotations| !annotations.contains_key(LEADER))
        && endpoints.metadata.deletion_timestamp.is_none()
}

/// The addresses of Endpoints, by sort and ports.
pub fn groups(subsets: &Value) -> Vec<Group> {
    let mut groups = Vec::new();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    for subset in list(subsets) {
        let ports: Vec<_> = list(&subset["ports"])
            .into_iter()
            .map(|mut port| {
                if port["name"].is_null() {
                    port["name"] = json!("");
                }
                port
            })
            .collect();
        let sorts = [("addresses", true), ("notReadyAddresses", false)];
        let all = sorts
            .into_iter()
            .flat_map(|(sort, ready)| list(&subset[sort]).into_iter().map(move |address| (address, ready)));
        for (address, ready) in all.take(MOST) {
            let Some(ip) = address["ip"].as_str() else { continue };
            let Ok(parsed) = ip.parse::<IpAddr>() else { continue };
            let mut endpoint = json!({ "addresses": [ip], "conditions": { "ready": ready } });
            for field in ["hostname", "nodeName", "targetRef"] {
                if !address[field].is_null() {
                    endpoint[field] = address[field].clone();
                }
            }
            Group::add(&mut groups, if parsed.is_ipv4() { "IPv4" } else { "IPv6" }, &ports, endpoint);
        }
    }
    groups
}
