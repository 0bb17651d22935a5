//! Project: a developer's application, from its repository to its environments.

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EnvVar, EnvironmentType, SecretReference};
use crate::condition::{self, Condition};

/// A project: where its source is, how it is built, where the image goes and under which name it is served.
#[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, PartialEq, Serialize)]
#[kube(
    group = "kapsa-project.io",
    version = "v1alpha1",
    kind = "Project",
    plural = "projects",
    singular = "project",
    shortname = "proj",
    namespaced,
    status = "ProjectStatus",
    derive = "PartialEq",
    printcolumn(name = "Repository", type_ = "string", json_path = ".spec.repository.url"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(name = "Latest Image", type_ = "string", json_path = ".status.latestImage", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    doc = "A project: where its source is, how it is built, where the image goes and under which name it is served."
)]
#[serde(rename_all = "camelCase")]
pub struct ProjectSpec {
    /// Where the source is.
    pub repository: Repository,

    /// How an image is made from the source.
    pub build: Build,

    /// Where images are pushed.
    pub registry: ImageTarget,

    /// Under which name the project is served.
    pub domain: Domain,

    /// The permanent environments, each with a name of its own. Empty or absent: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub environments: Vec<ProjectEnvironment>,

    /// Environments made for branches as they come and go. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview_environments: Option<PreviewEnvironments>,
}

/// A git repository.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Repository {
    /// The repository's address, https or ssh.
    pub url: String,

    /// The branch to build. Default: main.
    #[serde(default = "main_branch")]
    pub branch: String,

    /// How often to look for new commits, in seconds, at least 60. Absent: the operator's setting, 300 unless changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60))]
    pub poll_interval: Option<i64>,

    /// How to sign in to the repository. Absent: without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<RepositoryCredentials>,
}

/// How to sign in to a git repository.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RepositoryCredentials {
    /// The Secret with user name and password or with an ssh key. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretReference>,
}

/// How an image is made.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Build {
    /// dockerfile builds the repository's Dockerfile, buildpack finds out by itself how to build.
    pub strategy: BuildStrategy,

    /// The Dockerfile's path inside the context, for the strategy dockerfile. Absent: `Dockerfile`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dockerfile: Option<String>,

    /// The folder of the repository that is built. Default: `.`, the whole.
    #[serde(default = "whole_repository")]
    pub context: String,

    /// Build arguments, name to value. Empty or absent: none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<String, String>,

    /// Environment variables of the build. Empty or absent: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvVar>,
}

/// How an image is made.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BuildStrategy {
    /// By the repository's Dockerfile.
    Dockerfile,
    /// By Cloud Native Buildpacks.
    Buildpack,
}

/// Where images are pushed.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageTarget {
    /// The name of a Registry object.
    pub name: String,

    /// The path inside that registry, for example `team/app`.
    pub image_repository: String,
}

/// Under which name a project is served.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Domain {
    /// The project's own label in front of the base domain: lower-case letters, digits and dashes, at most 63.
    #[schemars(length(max = 63), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub subdomain: String,

    /// The name of the DomainPool that gives the base domain.
    pub domain_pool_ref: String,
}

/// A permanent environment of a project.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectEnvironment {
    /// The environment's name: lower-case letters, digits and dashes, at most 63. Unique in the project.
    #[schemars(length(max = 63), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,

    /// The branch it follows. Absent: the repository's branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,

    /// Whether a new image is rolled out by itself. Default: false.
    #[serde(default)]
    pub auto_sync: bool,
}

/// Environments that come and go with branches.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct PreviewEnvironments {
    /// Whether there are any. Default: false.
    #[serde(default)]
    pub enabled: bool,

    /// How long one lives, as a duration such as `72h`. Default: 168h, a week.
    #[serde(default = "a_week")]
    pub ttl: String,

    /// Which branches get one. Absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branches: Option<BranchFilter>,
}

/// Which branches are meant.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct BranchFilter {
    /// Patterns such as `feature/*` of which one must match. Empty or absent: every branch matches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,

    /// Patterns of which none may match. Empty or absent: none is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
}

/// What is known about a Project.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectStatus {
    /// The metadata.generation this status was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The state in detail: Ready, BuildSucceeded, RepositoryAccessible.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "condition::list_schema")]
    pub conditions: Vec<Condition>,

    /// The newest commit seen on the repository's branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_commit: Option<String>,

    /// The newest image built from the repository's branch, with its digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_image: Option<String>,

    /// The environments, permanent and preview.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub environments: Vec<EnvironmentSummary>,
}

/// An environment as its project sees it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct EnvironmentSummary {
    /// The environment's name.
    pub name: String,

    /// Whether it serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,

    /// Where it is served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,

    /// Whether it is meant to stay.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<EnvironmentType>,
}

fn main_branch() -> String {
    "main".to_owned()
}

fn whole_repository() -> String {
    ".".to_owned()
}

fn a_week() -> String {
    "168h".to_owned()
}
