//! DomainPool: the base domains an administrator lets projects use.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::{self, Condition};

/// Base domains that projects may be served under, and the issuer of their certificates.
#[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, PartialEq, Serialize)]
#[kube(
    group = "kapsa-project.io",
    version = "v1alpha1",
    kind = "DomainPool",
    plural = "domainpools",
    singular = "domainpool",
    status = "DomainPoolStatus",
    derive = "PartialEq",
    printcolumn(name = "Base Domains", type_ = "string", json_path = ".spec.baseDomains[0]"),
    printcolumn(name = "Issuer", type_ = "string", json_path = ".spec.certManager.issuerRef.name"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    doc = "Base domains that projects may be served under, and the issuer of their certificates."
)]
#[serde(rename_all = "camelCase")]
pub struct DomainPoolSpec {
    /// The base domains, for example `apps.example.com`: lower case, 1 to 64 of them, none a part of another.
    #[schemars(length(min = 1, max = 64))]
    #[schemars(inner(
        length(max = 253),
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
    ))]
    #[x_kube(
        merge_strategy = ListMerge::Set,
        validation = Rule::new("self.all(a, !self.exists(b, a.endsWith('.' + b)))")
            .message("base domains must not overlap: one is a subdomain of another, and names given out under both could collide")
    )]
    pub base_domains: Vec<String>,

    /// Who issues the certificates.
    pub cert_manager: CertManager,

    /// How a base domain is chosen. Absent: as its defaults say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocation_policy: Option<AllocationPolicy>,
}

/// Who issues certificates.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CertManager {
    /// The cert-manager issuer.
    pub issuer_ref: IssuerReference,
}

/// A cert-manager issuer.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct IssuerReference {
    /// The issuer's name.
    pub name: String,

    /// ClusterIssuer, or Issuer for one in the project's own namespace. Default: ClusterIssuer.
    #[serde(default)]
    pub kind: IssuerKind,
}

/// The kind of a cert-manager issuer.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum IssuerKind {
    /// One for the whole cluster.
    #[default]
    ClusterIssuer,
    /// One of the project's namespace.
    Issuer,
}

/// How names are given out.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AllocationPolicy {
    /// Which base domain a new name gets: the next in turn, any, or the least used. Default: round-robin.
    #[serde(default)]
    pub strategy: AllocationStrategy,

    /// Subdomains nobody gets, for example `www`. Empty or absent: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reserved_subdomains: Vec<String>,
}

/// Which base domain a new name gets.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AllocationStrategy {
    /// The next in turn.
    #[default]
    RoundRobin,
    /// Any.
    Random,
    /// The one with the fewest names.
    LeastUsed,
}

/// What is known about a DomainPool.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DomainPoolStatus {
    /// The metadata.generation this status was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The state in detail: Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "condition::list_schema")]
    pub conditions: Vec<Condition>,

    /// The names given out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allocations: Vec<Allocation>,
}

/// A name given out.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Allocation {
    /// The part in front of the base domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subdomain: Option<String>,

    /// The base domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_domain: Option<String>,

    /// The Project that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,

    /// The Environment that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
}
