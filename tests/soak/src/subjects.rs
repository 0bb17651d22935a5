//! The kinds that are written, each with a first version and parts to change it by.

use serde_json::{Value, json};

/// A kind to write.
pub struct Subject {
    pub api_version: &'static str,
    pub kind: &'static str,
    pub plural: &'static str,
    pub has_status: bool,
    /// Whether Kubernetes' own schema describes it.
    pub builtin: bool,
    /// What every object starts from.
    pub base: Value,
    /// Parts of the object itself: alternatives, of which a write takes one.
    pub parts: Vec<Vec<Value>>,
    /// Parts of its status.
    pub status_parts: Vec<Vec<Value>>,
}

impl Subject {
    /// The path of the kind in a namespace.
    pub fn path(&self, namespace: &str) -> String {
        let root = if self.api_version.contains('/') { "apis" } else { "api" };
        format!("/{root}/{}/namespaces/{namespace}/{}", self.api_version, self.plural)
    }
}

/// All of them.
pub fn all() -> Vec<Subject> {
    vec![deployment(), pod(), service(), job(), secret(), config_map(), shape()]
}

/// The definition of the custom kind.
pub fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "shapes.soak.anneal.dev" },
        "spec": {
            "group": "soak.anneal.dev",
            "scope": "Namespaced",
            "names": { "kind": "Shape", "plural": "shapes", "singular": "shape" },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": shape_schema() }
            }]
        }
    })
}

/// The schema of the custom kind: lists and maps of every type.
pub fn shape_schema() -> Value {
    let text = json!({ "type": "string" });
    json!({ "type": "object", "properties": {
        "spec": { "type": "object", "properties": {
            "tags": { "type": "array", "items": text, "x-kubernetes-list-type": "set" },
            "numbers": { "type": "array", "items": { "type": "integer" }, "x-kubernetes-list-type": "set" },
            "steps": { "type": "array", "items": text },
            "limits": {
                "type": "object", "additionalProperties": text, "x-kubernetes-map-type": "atomic"
            },
            "labels": { "type": "object", "additionalProperties": text },
            "nested": {
                "type": "object",
                "additionalProperties": { "type": "object", "properties": { "x": text, "y": text } }
            },
            "size": { "x-kubernetes-int-or-string": true },
            "mode": { "type": "string", "default": "auto" },
            "replicas": { "type": "integer" },
            "maybe": { "type": "string", "nullable": true },
            "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            "ports": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name", "protocol"],
                "items": { "type": "object", "required": ["name"], "properties": {
                    "name": text,
                    "protocol": { "type": "string", "default": "TCP" },
                    "number": { "type": "integer" },
                    "rules": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["id"],
                        "items": { "type": "object", "required": ["id"], "properties": {
                            "id": { "type": "integer" }, "allow": { "type": "boolean" }, "note": text
                        } }
                    }
                } }
            }
        } },
        "status": { "type": "object", "properties": {
            "phase": text,
            "count": { "type": "integer" },
            "conditions": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
                "items": { "type": "object", "required": ["type"], "properties": {
                    "type": text, "status": text, "reason": text
                } }
            }
        } }
    } })
}

/// The same part with different values: `at` is where, from the outside in.
fn values(at: &[&str], values: &[Value]) -> Vec<Value> {
    let wrap = |value: &Value| {
        at.iter().rev().fold(value.clone(), |inner, name| match name.split_once('=') {
            // An item of a list, told by a key.
            Some((key, text)) => {
                let mut item = inner;
                item[key] = text.parse::<i64>().map_or_else(|_| text.into(), Value::from);
                json!([item])
            }
            None => json!({ (*name): inner }),
        })
    };
    values.iter().map(wrap).collect()
}

fn texts(at: &[&str]) -> Vec<Value> {
    values(at, &[json!("1"), json!("2"), json!("3")])
}

fn metadata_parts() -> Vec<Vec<Value>> {
    vec![
        texts(&["metadata", "labels", "a"]),
        texts(&["metadata", "labels", "b"]),
        texts(&["metadata", "labels", "c"]),
        texts(&["metadata", "annotations", "x"]),
        texts(&["metadata", "annotations", "y.anneal.dev/z"]),
        values(
            &["metadata", "finalizers"],
            &[
                json!(["anneal.dev/x"]),
                json!(["anneal.dev/y", "anneal.dev/x"]),
                json!(["anneal.dev/z"]),
                json!(["anneal.dev/x", "anneal.dev/z", "anneal.dev/y"]),
            ],
        ),
    ]
}

fn with_metadata(mut parts: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    parts.extend(metadata_parts());
    parts
}

/// Parts of a pod's spec, which is found below `at`.
fn pod_spec_parts(at: &[&str]) -> Vec<Vec<Value>> {
    let below = |rest: &[&str], choices: &[Value]| {
        let path: Vec<&str> = at.iter().chain(rest).copied().collect();
        values(&path, choices)
    };
    let container = |name: &str, rest: &[&str], choices: &[Value]| {
        let item = format!("name={name}");
        let path: Vec<&str> = ["containers", &item].iter().chain(rest).copied().collect();
        below(&path, choices)
    };
    let image = [json!("registry.invalid/app:1"), json!("registry.invalid/app:2")];
    vec![
        container("main", &["image"], &image),
        container("main", &["imagePullPolicy"], &[json!("Always"), json!("Never")]),
        container("side", &["image"], &image),
        container("extra", &["image"], &image),
        container("main", &["env", "name=A", "value"], &[json!("1"), json!("2")]),
        container("main", &["env", "name=B", "value"], &[json!("1"), json!("2")]),
        container("main", &["env", "name=C", "value"], &[json!("1"), json!("2")]),
        container("main", &["args"], &[json!(["x"]), json!(["x", "y"]), json!([])]),
        container(
            "main",
            &["ports"],
            &[
                json!([{ "containerPort": 80 }]),
                json!([{ "containerPort": 80, "protocol": "UDP" }, { "containerPort": 81, "name": "web" }]),
                json!([{ "containerPort": 81 }, { "containerPort": 80, "protocol": "TCP", "name": "old" }]),
            ],
        ),
        container("main", &["resources", "limits", "cpu"], &[json!("1"), json!("500m")]),
        container("main", &["resources", "limits", "memory"], &[json!("1Gi"), json!("2Gi")]),
        container(
            "main",
            &["volumeMounts"],
            &[
                json!([{ "name": "scratch", "mountPath": "/a" }]),
                json!([{ "name": "scratch", "mountPath": "/a", "readOnly": true }, { "name": "scratch", "mountPath": "/b" }]),
            ],
        ),
        container("main", &["securityContext", "runAsNonRoot"], &[json!(true), json!(false)]),
        below(&["volumes", "name=scratch", "emptyDir"], &[json!({}), json!({ "medium": "Memory" })]),
        below(&["nodeSelector"], &[json!({ "x": "1" }), json!({ "x": "2", "y": "1" })]),
        below(&["securityContext", "runAsUser"], &[json!(1000), json!(2000)]),
        below(&["tolerations"], &[json!([{ "key": "x", "operator": "Exists" }]), json!([])]),
        below(&["imagePullSecrets"], &[json!([{ "name": "a" }]), json!([{ "name": "b" }, { "name": "a" }])]),
        below(&["terminationGracePeriodSeconds"], &[json!(5), json!(10)]),
        below(&["hostAliases"], &[json!([{ "ip": "10.0.0.1", "hostnames": ["a"] }])]),
    ]
}

fn conditions(at: &[&str]) -> Vec<Vec<Value>> {
    ["Ready", "Other", "anneal.dev/third"]
        .into_iter()
        .map(|kind| {
            let item = format!("type={kind}");
            let path: Vec<&str> = at.iter().copied().chain([item.as_str()]).collect();
            values(&path, &[json!({ "status": "True" }), json!({ "status": "False", "reason": "Because" })])
        })
        .collect()
}

fn pod_template() -> Value {
    json!({
        "schedulerName": "nobody",
        "automountServiceAccountToken": false,
        "containers": [{ "name": "main", "image": "registry.invalid/app:0" }]
    })
}

fn deployment() -> Subject {
    let mut parts = vec![
        values(&["spec", "replicas"], &[json!(0), json!(1), json!(2)]),
        values(&["spec", "minReadySeconds"], &[json!(0), json!(3)]),
        values(
            &["spec", "strategy"],
            &[
                json!({ "type": "RollingUpdate" }),
                json!({ "rollingUpdate": { "maxSurge": 2 } }),
                json!({ "rollingUpdate": { "maxSurge": "50%", "maxUnavailable": 0 } }),
                json!({ "type": "Recreate", "rollingUpdate": null }),
            ],
        ),
        texts(&["spec", "template", "metadata", "labels", "t"]),
        texts(&["spec", "template", "metadata", "annotations", "u"]),
    ];
    parts.extend(pod_spec_parts(&["spec", "template", "spec"]));
    let mut status_parts = conditions(&["status", "conditions"]);
    status_parts.push(values(&["status", "replicas"], &[json!(1), json!(2)]));
    status_parts.push(values(&["status", "observedGeneration"], &[json!(1), json!(2)]));
    status_parts.push(texts(&["metadata", "annotations", "from-status"]));
    status_parts.push(texts(&["metadata", "labels", "from-status"]));
    Subject {
        api_version: "apps/v1",
        kind: "Deployment",
        plural: "deployments",
        has_status: true,
        builtin: true,
        base: json!({ "spec": {
            "paused": true,
            "selector": { "matchLabels": { "app": "a" } },
            "template": { "metadata": { "labels": { "app": "a" } }, "spec": pod_template() }
        } }),
        parts: with_metadata(parts),
        status_parts,
    }
}

fn pod() -> Subject {
    let image = [json!("registry.invalid/app:1"), json!("registry.invalid/app:2")];
    let mut status_parts = conditions(&["status", "conditions"]);
    status_parts.push(values(&["status", "phase"], &[json!("Running"), json!("Pending")]));
    status_parts.push(texts(&["status", "message"]));
    status_parts.push(values(&["status", "podIPs"], &[json!([{ "ip": "10.0.0.1" }])]));
    Subject {
        api_version: "v1",
        kind: "Pod",
        plural: "pods",
        has_status: true,
        builtin: true,
        base: json!({ "spec": pod_template() }),
        parts: with_metadata(vec![
            values(&["spec", "containers", "name=main", "image"], &image),
            values(&["spec", "activeDeadlineSeconds"], &[json!(100), json!(50)]),
            values(&["spec", "tolerations"], &[json!([{ "key": "x", "operator": "Exists" }])]),
        ]),
        status_parts,
    }
}

fn service() -> Subject {
    let port = |number: i64, more: Value| {
        let mut port = json!({ "port": number, "name": format!("p{number}") });
        super::overlay::lay(&more, &mut port);
        json!({ "spec": { "ports": [port] } })
    };
    Subject {
        api_version: "v1",
        kind: "Service",
        plural: "services",
        has_status: true,
        builtin: true,
        base: json!({ "spec": { "clusterIP": "None", "ports": [{ "port": 80, "name": "p80" }] } }),
        parts: with_metadata(vec![
            vec![port(80, json!({ "targetPort": 8080 })), port(80, json!({ "targetPort": "http" }))],
            vec![port(81, json!({})), port(81, json!({ "targetPort": 1, "protocol": "TCP" }))],
            vec![port(82, json!({ "protocol": "UDP" })), port(82, json!({ "appProtocol": "dns" }))],
            values(&["spec", "selector"], &[json!({ "x": "1" }), json!({ "x": "1", "y": "2" })]),
            values(&["spec", "publishNotReadyAddresses"], &[json!(true), json!(false)]),
            values(&["spec", "sessionAffinity"], &[json!("None"), json!("ClientIP")]),
        ]),
        status_parts: vec![
            conditions(&["status", "conditions"]).remove(0),
            values(&["status", "loadBalancer", "ingress"], &[json!([{ "ip": "10.0.0.1" }]), json!([])]),
        ]
        .into_iter()
        .skip(1)
        .collect(),
    }
}

fn job() -> Subject {
    let mut template = pod_template();
    template["restartPolicy"] = "Never".into();
    let mut status_parts = conditions(&["status", "conditions"]);
    status_parts.truncate(2);
    Subject {
        api_version: "batch/v1",
        kind: "Job",
        plural: "jobs",
        has_status: true,
        builtin: true,
        base: json!({ "spec": { "suspend": true, "template": { "spec": template } } }),
        parts: with_metadata(vec![
            values(&["spec", "parallelism"], &[json!(1), json!(2)]),
            values(&["spec", "backoffLimit"], &[json!(1), json!(2)]),
            values(&["spec", "ttlSecondsAfterFinished"], &[json!(100), json!(200)]),
            values(&["spec", "activeDeadlineSeconds"], &[json!(100), json!(200)]),
            texts(&["spec", "template", "metadata", "labels", "t"]),
            values(
                &["spec", "template", "spec", "nodeSelector"],
                &[json!({ "x": "1" }), json!({ "y": "1" })],
            ),
        ]),
        status_parts,
    }
}

fn secret() -> Subject {
    Subject {
        api_version: "v1",
        kind: "Secret",
        plural: "secrets",
        has_status: false,
        builtin: true,
        base: json!({ "type": "Opaque" }),
        parts: with_metadata(vec![
            values(&["data", "a"], &[json!("MQ=="), json!("Mg==")]),
            values(&["data", "b"], &[json!("MQ=="), json!("Mg==")]),
            texts(&["stringData", "c"]),
        ]),
        status_parts: Vec::new(),
    }
}

fn config_map() -> Subject {
    Subject {
        api_version: "v1",
        kind: "ConfigMap",
        plural: "configmaps",
        has_status: false,
        builtin: true,
        base: super::overlay::nothing(),
        parts: with_metadata(vec![
            texts(&["data", "a"]),
            texts(&["data", "b"]),
            texts(&["data", "c.d"]),
            values(&["data"], &[json!({}), json!(null)]),
            values(&["binaryData", "e"], &[json!("MQ=="), json!("Mg==")]),
        ]),
        status_parts: Vec::new(),
    }
}

fn shape() -> Subject {
    let port = |name: &str, rest: &[&str], choices: &[Value]| {
        let item = format!("name={name}");
        let path: Vec<&str> = ["spec", "ports", &item].iter().chain(rest).copied().collect();
        values(&path, choices)
    };
    Subject {
        api_version: "soak.anneal.dev/v1",
        kind: "Shape",
        plural: "shapes",
        has_status: true,
        builtin: false,
        base: super::overlay::nothing(),
        parts: with_metadata(vec![
            values(&["spec", "tags"], &[json!(["x"]), json!(["y", "x"]), json!(["z", "y"]), json!([])]),
            values(&["spec", "numbers"], &[json!([1]), json!([2, 1]), json!([3])]),
            values(&["spec", "steps"], &[json!(["x"]), json!(["x", "y"]), json!([])]),
            values(&["spec", "limits"], &[json!({ "x": "1" }), json!({ "x": "2", "y": "1" }), json!({})]),
            texts(&["spec", "labels", "a"]),
            texts(&["spec", "labels", "b"]),
            texts(&["spec", "nested", "k", "x"]),
            texts(&["spec", "nested", "k", "y"]),
            values(&["spec", "nested", "l"], &[json!({}), json!({ "x": "1" }), json!(null)]),
            values(&["spec", "size"], &[json!(1), json!("1"), json!("50%")]),
            values(&["spec", "mode"], &[json!("auto"), json!("manual"), json!(null)]),
            values(&["spec", "replicas"], &[json!(1), json!(2), json!(null)]),
            values(&["spec", "maybe"], &[json!("x"), json!(null)]),
            values(
                &["spec", "free"],
                &[
                    json!({ "a": 1 }),
                    json!({ "a": { "b": [1, { "c": 2 }] } }),
                    json!({ "a": [1] }),
                    json!({}),
                ],
            ),
            values(&["spec", "free", "n", "m"], &[json!("1"), json!(2), json!(true), json!(1.5)]),
            port("web", &["number"], &[json!(80), json!(81)]),
            port("web", &["protocol"], &[json!("TCP"), json!("UDP")]),
            port("dns", &["number"], &[json!(53), json!(54)]),
            port("dns", &["rules", "id=1", "allow"], &[json!(true), json!(false)]),
            port("dns", &["rules", "id=2", "note"], &[json!("x"), json!("y")]),
            port(
                "ssh",
                &["rules"],
                &[json!([{ "id": 3 }]), json!([{ "id": 4 }, { "id": 3, "allow": true }])],
            ),
        ]),
        status_parts: {
            let mut parts = conditions(&["status", "conditions"]);
            parts.push(texts(&["status", "phase"]));
            parts.push(values(&["status", "count"], &[json!(1), json!(2)]));
            parts.push(texts(&["metadata", "labels", "from-status"]));
            parts
        },
    }
}
