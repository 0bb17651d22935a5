//! The built-in kinds: a table of what is served, and a file for each with what its schema does not say.

use super::behaviour::Behaviour;

mod amount;
mod cluster_role;
mod cluster_role_binding;
mod config_map;
mod cron_job;
mod custom_resource_definition;
mod daemon_set;
mod deployment;
mod endpoint_slice;
mod endpoints;
pub mod event;
pub(crate) mod forms;
pub mod horizontal_pod_autoscaler;
mod ingress;
mod ingress_class;
mod job;
pub mod lease;
pub mod namespace;
mod network_policy;
mod node;
mod persistent_volume_claim;
pub mod pod;
mod pod_disruption_budget;
pub(crate) mod pod_spec;
mod rbac;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod recorded_core;
mod replica_set;
mod role;
mod role_binding;
mod secret;
pub(crate) mod selector;
pub mod service;
mod service_account;
mod stateful_set;
mod workload;

/// A built-in kind as it is served.
pub struct Builtin {
    pub group: &'static str,
    /// Versions, the preferred first. Objects are kept in that one.
    pub versions: &'static [&'static str],
    pub kind: &'static str,
    pub plural: &'static str,
    pub short_names: &'static [&'static str],
    pub categories: &'static [&'static str],
    pub namespaced: bool,
    /// Subresources beside `status`.
    pub subresources: &'static [&'static str],
    pub behaviour: &'static dyn Behaviour,
}

/// The built-in kinds that are kept. Reviews, bindings and the like are answered, not kept.
pub const BUILTINS: &[Builtin] = &[
    Builtin {
        group: "",
        versions: &["v1"],
        kind: "ConfigMap",
        plural: "configmaps",
        short_names: &["cm"],
        categories: &[],
        namespaced: true,
        subresources: &[],
        behaviour: &config_map::ConfigMap,
    },
    Builtin {
        group: "",
        versions: &["v1"],
        kind: "Endpoints",
        plural: "endpoints",
        short_names: &["ep"],
        categories: &[],
        namespaced: true,
        subresources: &[],
        behaviour: &endpoints::Endpoints,
    },
    Builtin {
        group: "",
        versions: &["v1"],
        kind: "Event",
        plural: "events",
        short_names: &["ev"],
        categories: &[],
        namespaced: true,
        subresources: &[],
        behaviour: &event::Event,
    },
    Builtin {
        group: "",
        versions: &["v1"],
        kind: "Namespace",
        plural: "namespaces",
        short_names: &["ns"],
        categories: &[],
        namespaced: false,
        subresources: &["finalize"],
        behaviour: &namespace::Namespace,
    },
    Builtin {
        group: "",
        versions: &["v1"],
        kind: "Node",
        plural: "nodes",
        short_names: &["no"],
        categories: &[],
        namespaced: false,
        subresources: &[],
        behaviour: &node::Node,
    },
    Builtin {
        group: "",
        versions: &["v1"],
        kind: "PersistentVolumeClaim",
        plural: "persistentvolumeclaims",
        short_names: &["pvc"],
        categories: &[],
        namespaced: true,
        subresources: &[],
        behaviour: &persistent_volume_claim::PersistentVolumeClaim,
    },
    Builtin {
        group: "",
        versions: &["v1"],
        kind: "Pod",
        plural: "pods",
        short_names: &["po"],
        categories: &["all"],
        namespaced: true,
        subresources: &["binding", "eviction", "log", "ephemeralcontainers"],
        behaviour: &pod::Pod,
    },
    Builtin {
        group: "",
        versions: &["v1"],
        kind: "Secret",
        plural: "secrets",
        short_names: &[],
        categories: &[],
        namespaced: true,
        subresources: &[],
        behaviour: &secret::Secret,
    },
    Builtin {
        group: "",
        versions: &["v1"],
        kind: "Service",
        plural: "services",
        short_names: &["svc"],
        categories: &["all"],
        namespaced: true,
        subresources: &[],
        behaviour: &service::Service,
    },
    Builtin {
        group: "",
        versions: &["v1"],
        kind: "ServiceAccount",
        plural: "serviceaccounts",
        short_names: &["sa"],
        categories: &[],
        namespaced: true,
        subresources: &["token"],
        behaviour: &service_account::ServiceAccount,
    },
    Builtin {
        group: "apiextensions.k8s.io",
        versions: &["v1"],
        kind: "CustomResourceDefinition",
        plural: "customresourcedefinitions",
        short_names: &["crd", "crds"],
        categories: &["api-extensions"],
        namespaced: false,
        subresources: &[],
        behaviour: &custom_resource_definition::CustomResourceDefinition,
    },
    Builtin {
        group: "apps",
        versions: &["v1"],
        kind: "DaemonSet",
        plural: "daemonsets",
        short_names: &["ds"],
        categories: &["all"],
        namespaced: true,
        subresources: &[],
        behaviour: &daemon_set::DaemonSet,
    },
    Builtin {
        group: "apps",
        versions: &["v1"],
        kind: "Deployment",
        plural: "deployments",
        short_names: &["deploy"],
        categories: &["all"],
        namespaced: true,
        subresources: &["scale"],
        behaviour: &deployment::Deployment,
    },
    Builtin {
        group: "apps",
        versions: &["v1"],
        kind: "ReplicaSet",
        plural: "replicasets",
        short_names: &["rs"],
        categories: &["all"],
        namespaced: true,
        subresources: &["scale"],
        behaviour: &replica_set::ReplicaSet,
    },
    Builtin {
        group: "apps",
        versions: &["v1"],
        kind: "StatefulSet",
        plural: "statefulsets",
        short_names: &["sts"],
        categories: &["all"],
        namespaced: true,
        subresources: &["scale"],
        behaviour: &stateful_set::StatefulSet,
    },
    Builtin {
        group: "autoscaling",
        versions: &["v2", "v1"],
        kind: "HorizontalPodAutoscaler",
        plural: "horizontalpodautoscalers",
        short_names: &["hpa"],
        categories: &["all"],
        namespaced: true,
        subresources: &[],
        behaviour: &horizontal_pod_autoscaler::HorizontalPodAutoscaler,
    },
    Builtin {
        group: "batch",
        versions: &["v1"],
        kind: "CronJob",
        plural: "cronjobs",
        short_names: &["cj"],
        categories: &["all"],
        namespaced: true,
        subresources: &[],
        behaviour: &cron_job::CronJob,
    },
    Builtin {
        group: "batch",
        versions: &["v1"],
        kind: "Job",
        plural: "jobs",
        short_names: &[],
        categories: &["all"],
        namespaced: true,
        subresources: &[],
        behaviour: &job::Job,
    },
    Builtin {
        group: "coordination.k8s.io",
        versions: &["v1"],
        kind: "Lease",
        plural: "leases",
        short_names: &[],
        categories: &[],
        namespaced: true,
        subresources: &[],
        behaviour: &lease::Lease,
    },
    Builtin {
        group: "discovery.k8s.io",
        versions: &["v1"],
        kind: "EndpointSlice",
        plural: "endpointslices",
        short_names: &[],
        categories: &[],
        namespaced: true,
        subresources: &[],
        behaviour: &endpoint_slice::EndpointSlice,
    },
    Builtin {
        group: "networking.k8s.io",
        versions: &["v1"],
        kind: "Ingress",
        plural: "ingresses",
        short_names: &["ing"],
        categories: &[],
        namespaced: true,
        subresources: &[],
        behaviour: &ingress::Ingress,
    },
    Builtin {
        group: "networking.k8s.io",
        versions: &["v1"],
        kind: "IngressClass",
        plural: "ingressclasses",
        short_names: &[],
        categories: &[],
        namespaced: false,
        subresources: &[],
        behaviour: &ingress_class::IngressClass,
    },
    Builtin {
        group: "networking.k8s.io",
        versions: &["v1"],
        kind: "NetworkPolicy",
        plural: "networkpolicies",
        short_names: &["netpol"],
        categories: &[],
        namespaced: true,
        subresources: &[],
        behaviour: &network_policy::NetworkPolicy,
    },
    Builtin {
        group: "policy",
        versions: &["v1"],
        kind: "PodDisruptionBudget",
        plural: "poddisruptionbudgets",
        short_names: &["pdb"],
        categories: &[],
        namespaced: true,
        subresources: &[],
        behaviour: &pod_disruption_budget::PodDisruptionBudget,
    },
    Builtin {
        group: "rbac.authorization.k8s.io",
        versions: &["v1"],
        kind: "ClusterRole",
        plural: "clusterroles",
        short_names: &[],
        categories: &[],
        namespaced: false,
        subresources: &[],
        behaviour: &cluster_role::ClusterRole,
    },
    Builtin {
        group: "rbac.authorization.k8s.io",
        versions: &["v1"],
        kind: "ClusterRoleBinding",
        plural: "clusterrolebindings",
        short_names: &[],
        categories: &[],
        namespaced: false,
        subresources: &[],
        behaviour: &cluster_role_binding::ClusterRoleBinding,
    },
    Builtin {
        group: "rbac.authorization.k8s.io",
        versions: &["v1"],
        kind: "Role",
        plural: "roles",
        short_names: &[],
        categories: &[],
        namespaced: true,
        subresources: &[],
        behaviour: &role::Role,
    },
    Builtin {
        group: "rbac.authorization.k8s.io",
        versions: &["v1"],
        kind: "RoleBinding",
        plural: "rolebindings",
        short_names: &[],
        categories: &[],
        namespaced: true,
        subresources: &[],
        behaviour: &role_binding::RoleBinding,
    },
];
