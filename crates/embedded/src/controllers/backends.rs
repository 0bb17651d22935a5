//! Where a Service leads: the pods behind it, and on which ports. Pure; Endpoints and EndpointSlices are both made
//! of it.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::{Value, json};

use super::records::{Pod, Service, ServicePort};

/// A pod behind a Service.
#[derive(Clone, Debug, PartialEq)]
pub struct Backend {
    pub address: String,
    pub node: String,
    /// What it is, as a reference.
    pub target: Value,
    /// Whether it may get new connections.
    pub ready: bool,
    /// Whether it answers, though it may be ending.
    pub serving: bool,
    pub terminating: bool,
    /// The Service's ports as this pod has them; those that it has not are left out.
    pub ports: Vec<Value>,
}

/// The pods behind a Service, in the order of their addresses.
pub fn backends<'a>(service: &Service, pods: impl IntoIterator<Item = &'a Pod>) -> Vec<Backend> {
    let mut backends: Vec<_> = pods
        .into_iter()
        .filter(|pod| service.selects(pod.labels()))
        .filter_map(|pod| backend(service, pod))
        .collect();
    backends.sort_by(|one, other| one.address.cmp(&other.address));
    backends
}

fn backend(service: &Service, pod: &Pod) -> Option<Backend> {
    // Who has ended, or was never given an address, can answer nobody.
    if pod.status.pod_ip.is_empty() || pod.is_finished() {
        return None;
    }
    let (serving, terminating) = (pod.is_ready(), pod.is_ending());
    let meta = &pod.metadata;
    Some(Backend {
        address: pod.status.pod_ip.clone(),
        node: pod.spec.node_name.clone(),
        target: json!({ "kind": "Pod", "namespace": meta.namespace, "name": meta.name, "uid": meta.uid }),
        ready: service.spec.publish_not_ready_addresses || (serving && !terminating),
        serving,
        terminating,
        ports: service.spec.ports.iter().filter_map(|port| port_of(port, pod)).collect(),
    })
}

/// A Service's port as a pod has it.
fn port_of(port: &ServicePort, pod: &Pod) -> Option<Value> {
    let number = match &port.target_port {
        Some(IntOrString::Int(number)) if *number != 0 => *number,
        Some(IntOrString::String(name)) => {
            let own = pod.spec.containers.iter().flat_map(|container| &container.ports);
            let named = own.into_iter().find(|own| own.name == *name && own.protocol == port.protocol);
            i32::from(named?.container_port)
        }
        _ => i32::from(port.port),
    };
    let mut value = json!({ "name": port.name, "port": number, "protocol": port.protocol });
    if let Some(protocol) = &port.app_protocol {
        value["appProtocol"] = json!(protocol);
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn service(spec: Value) -> Service {
        let meta = json!({ "name": "web", "namespace": "ns", "uid": "service" });
        let mut spec = spec;
        spec["selector"] = json!({ "app": "web" });
        serde_json::from_value(json!({ "metadata": meta, "spec": spec })).expect("a Service")
    }

    pub fn pod(name: &str, address: &str, ready: bool) -> Pod {
        let ready = if ready { "True" } else { "False" };
        serde_json::from_value(json!({
            "metadata": { "name": name, "namespace": "ns", "uid": name, "labels": { "app": "web" } },
            "spec": { "containers": [{ "ports": [{ "name": "http", "containerPort": 8080, "protocol": "TCP" }] }] },
            "status": {
                "phase": "Running", "podIP": address, "conditions": [{ "type": "Ready", "status": ready }],
            },
        }))
        .expect("a Pod")
    }

    #[test]
    fn ports_are_the_pods_own() {
        let service = service(json!({ "ports": [
            { "name": "a", "port": 80, "targetPort": "http", "protocol": "TCP" },
            { "name": "b", "port": 81, "targetPort": 9000, "protocol": "TCP", "appProtocol": "h2c" },
            { "name": "c", "port": 82, "protocol": "TCP" },
            { "name": "d", "port": 83, "targetPort": "none", "protocol": "TCP" },
            { "name": "e", "port": 84, "targetPort": "http", "protocol": "UDP" },
        ] }));
        let found = backends(&service, [&pod("one", "127.1.0.1", true)]);
        let ports = json!([
            { "name": "a", "port": 8080, "protocol": "TCP" },
            { "name": "b", "port": 9000, "protocol": "TCP", "appProtocol": "h2c" },
            { "name": "c", "port": 82, "protocol": "TCP" },
        ]);
        assert_eq!(json!(found[0].ports), ports);
    }

    #[test]
    fn who_ends_serves_but_gets_nothing_new() {
        let mut ending = pod("one", "127.1.0.1", true);
        ending.metadata.deletion_timestamp =
            Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(jiff::Timestamp::UNIX_EPOCH));
        let states = |service: &Service| {
            let found = backends(service, [&ending]);
            (found[0].ready, found[0].serving, found[0].terminating)
        };
        assert_eq!(states(&service(json!({}))), (false, true, true));
        assert_eq!(states(&service(json!({ "publishNotReadyAddresses": true }))), (true, true, true));
    }

    #[test]
    fn only_pods_that_could_answer_count() {
        let service = service(json!({}));
        let mut ended = pod("ended", "127.1.0.2", true);
        ended.status.phase = "Succeeded".to_owned();
        let mut other = pod("other", "127.1.0.3", true);
        other.metadata.labels = None;
        let pods =
            [pod("b", "127.1.0.9", true), pod("a", "127.1.0.4", false), ended, other, pod("new", "", false)];
        let found: Vec<_> = backends(&service, &pods).into_iter().map(|backend| backend.address).collect();
        assert_eq!(found, ["127.1.0.4", "127.1.0.9"]);
    }
}
