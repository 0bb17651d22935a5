//! What a write needs of other objects: an open namespace, a service account, a free address.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    builtin::{pod, service},
    error::{About, ApiError, Result},
    fault::Faults,
    metadata, object,
    resource::Resource,
    server::Server,
};
use crate::store::{Key, Range};

/// Namespaces that the cluster cannot do without.
const SYSTEM_NAMESPACES: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Refuses to create in a namespace that does not exist, or is on its way out.
pub fn namespace_is_open(server: &Server, resource: &Resource, namespace: &str, name: &str) -> Result<()> {
    if resource.closed {
        let why = "create not allowed while custom resource definition is terminating";
        return Err(ApiError::forbidden(resource.about(name), why));
    }
    if !resource.namespaced {
        return Ok(());
    }
    let Some(record) = server.store.get(&Key::new("namespaces", "", namespace)) else {
        return Err(ApiError::not_found(About { group: "", resource: "namespaces", name: namespace }));
    };
    if !metadata::is_terminating(&record.value()) {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut error = ApiError::forbidden(resource.about(name), &why);
    error.details["causes"] = json!([{
        "reason": "NamespaceTerminating",
        "message": format!("namespace {namespace} is being terminated"),
        "field": "metadata.namespace"
    }]);
    Err(error)
}

/// Fills in what depends on other objects, or refuses.
pub fn create(server: &Server, resource: &Resource, new: &mut Value) -> Result<()> {
    match &*resource.collection {
        "pods" => service_account(server, resource, new),
        "services" => addresses(server, resource, new, None),
        _ => Ok(()),
    }
}

/// The same for a change.
pub fn update(server: &Server, resource: &Resource, new: &mut Value, old: &Value) -> Result<()> {
    match &*resource.collection {
        "pods" => pod::pod_update_admission(new, old),
        "services" => addresses(server, resource, new, Some(old))?,
        _ => {}
    }
    Ok(())
}

/// Refuses to delete what the cluster cannot do without.
pub fn delete(resource: &Resource, name: &str) -> Result<()> {
    if &*resource.collection == "namespaces" && SYSTEM_NAMESPACES.contains(&name) {
        return Err(ApiError::forbidden(resource.about(name), "this namespace may not be deleted"));
    }
    Ok(())
}

/// A pod runs as a service account of its namespace and brings its token along.
fn service_account(server: &Server, resource: &Resource, new: &mut Value) -> Result<()> {
    let (namespace, name) = (object::namespace(new).to_owned(), pod::service_account(new).to_owned());
    let account = server.store.get(&Key::new("serviceaccounts", namespace.as_str(), name.as_str()));
    // Nobody makes the default account where the built-in controllers do not run.
    let excused = name == "default" && !server.service_accounts;
    if account.is_none() && !excused {
        let why =
            format!("error looking up service account {namespace}/{name}: serviceaccount {name:?} not found");
        return Err(ApiError::forbidden(resource.about(object::name(new)), &why));
    }
    let account = account.map(|record| record.value()).unwrap_or_default();
    let admitted = pod::pod_admission(new, &account, &server.rng.name_suffix(5));
    admitted.map_err(|why| ApiError::forbidden(resource.about(object::name(new)), &why))
}

/// Where Services live, as upstream's default range.
const SERVICE_NETWORK: [u8; 2] = [10, 96];
/// Ports on every node that Services may have, as upstream's default range.
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30000..=32767;

/// Gives a Service the addresses and ports it needs, and refuses those that others have.
///
/// The caller holds `server.addresses` until the Service is stored.
fn addresses(server: &Server, resource: &Resource, new: &mut Value, old: Option<&Value>) -> Result<()> {
    let (namespace, name) = (object::namespace(new).to_owned(), object::name(new).to_owned());
    let about = About { group: "", resource: &resource.kind, name: &name };
    let mut faults = Faults::default();
    service::settle_families(new, old, &mut faults);
    if !faults.is_empty() {
        return Err(ApiError::invalid(about, &faults));
    }
    let page = server.store.list(&Range::all(&resource.collection), None);
    let others: Vec<Value> = page
        .map(|page| page.records)
        .unwrap_or_default()
        .into_iter()
        .filter(|(key, _)| (&*key.namespace, &*key.name) != (namespace.as_str(), name.as_str()))
        .map(|(_, record)| record.value())
        .collect();
    let taken: BTreeSet<&str> = others.iter().flat_map(service::addresses).collect();
    let mut ports: BTreeSet<(String, i64)> = others
        .iter()
        .flat_map(service::node_ports)
        .map(|(protocol, port)| (protocol.to_owned(), port))
        .collect();
    if service::needs_address(new) {
        let free = std::iter::repeat_with(|| {
            let [a, b] = SERVICE_NETWORK;
            // The first and last of the range stay free, for the network and for upstream's own Services.
            let host = 16 + server.rng.below(65_536 - 32);
            format!("{a}.{b}.{}.{}", host / 256, host % 256)
        });
        let Some(address) = free.take(MAX_DRAWS).find(|address| !taken.contains(address.as_str())) else {
            return Err(ApiError::internal("failed to allocate a serviceIP: range is full"));
        };
        service::set_address(new, &address);
    } else if service::addresses(new).any(|address| taken.contains(address)) {
        service::refuse_address(new, "provided IP is already allocated", &mut faults);
    }
    for (index, (protocol, port)) in
        service::node_ports(new).map(|(p, n)| (p.to_owned(), n)).collect::<Vec<_>>().into_iter().enumerate()
    {
        if !NODE_PORTS.contains(&port) {
            let why = format!(
                "provided port is not in the valid range. The range of valid ports is {}-{}",
                NODE_PORTS.start(),
                NODE_PORTS.end()
            );
            service::refuse_node_port(new, index, &why, &mut faults);
        } else if ports.contains(&(protocol, port)) {
            service::refuse_node_port(new, index, "provided port is already allocated", &mut faults);
        }
    }
    if !faults.is_empty() {
        return Err(ApiError::invalid(about, &faults));
    }
    ports.extend(service::node_ports(new).map(|(protocol, port)| (protocol.to_owned(), port)));
    for index in service::missing_node_ports(new) {
        let used: BTreeSet<i64> = ports.iter().map(|(_, port)| *port).collect();
        let span = NODE_PORTS.end() - NODE_PORTS.start() + 1;
        let free = std::iter::repeat_with(|| {
            NODE_PORTS.start() + server.rng.below(span.unsigned_abs()).cast_signed()
        });
        let Some(port) = free.take(MAX_DRAWS).find(|port| !used.contains(port)) else {
            return Err(ApiError::internal("failed to allocate a nodePort: range is full"));
        };
        ports.insert(("TCP".to_owned(), port));
        service::set_node_port(new, index, u16::try_from(port).unwrap_or_default());
    }
    Ok(())
}

/// How often a free address is drawn for. With half the range taken, all but one of 2^64 draws succeed by then.
const MAX_DRAWS: usize = 64;
