//! TargetApp: an application whose GraphQL state is polled, and what to do when it changes.

use std::collections::BTreeMap;

use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::Time,
};
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    condition::{self, Condition},
    crd::edit_schema,
};

/// An application whose GraphQL state is polled, and what to do when it changes.
#[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, PartialEq, Serialize)]
#[kube(
    group = "operator.kco.local",
    version = "v1alpha1",
    kind = "TargetApp",
    plural = "targetapps",
    singular = "targetapp",
    shortname = "tapp",
    namespaced,
    status = "TargetAppStatus",
    derive = "PartialEq",
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(name = "Endpoint", type_ = "string", json_path = ".spec.graphqlEndpoint"),
    printcolumn(
        name = "Last Change",
        type_ = "date",
        json_path = ".status.lastTransition",
        description = "When the application's state last changed"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    doc = "An application whose GraphQL state is polled, and what to do when it changes."
)]
#[serde(rename_all = "camelCase")]
pub struct TargetAppSpec {
    /// The application's pods.
    pub selector: Selector,

    /// Where its GraphQL is: a path (`/graphql`) on each pod, or a URL. Default: `/graphql`.
    #[serde(default = "graphql_path")]
    pub graphql_endpoint: String,

    /// How often to ask, in seconds, 5 to 3600. Absent: the operator's setting, 30 unless changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 5, max = 3600))]
    pub polling_interval: Option<i64>,

    /// The GraphQL query for the state. It takes no variables.
    pub state_query: String,

    /// How long to wait for an answer, in seconds, 1 to 60. Absent: the operator's setting, 10 unless changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 60))]
    pub timeout: Option<i64>,

    /// How often to try again after a failure, 0 to 10. Absent: the operator's setting, 3 unless changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10))]
    pub max_retries: Option<i64>,

    /// What to do when. Empty or absent: only watch. Default: empty.
    #[serde(default)]
    pub actions: Vec<ActionRule>,
}

/// Which pods are meant.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Selector {
    /// Labels a pod must have, all of them. Empty or absent: none are asked for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
}

/// What to do when.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ActionRule {
    /// When to act.
    pub trigger: Trigger,

    /// What to do, by name: restart_pod, scale_deployment, patch_resource, webhook or exec_command.
    #[schemars(length(min = 1))]
    pub action: String,

    /// The action's parameters; each action has its own. Default: empty.
    #[serde(default)]
    #[schemars(schema_with = "parameters_schema")]
    pub parameters: Map<String, Value>,
}

/// When to act.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Trigger {
    /// The field of the query's answer, as a path with dots: `application.health`.
    pub field: String,

    /// How the field is compared: equals, not_equals, greater_than, less_than, contains, exists or not_exists.
    pub condition: TriggerCondition,

    /// What the field is compared with, of any type. Not needed for exists and not_exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_value_schema")]
    pub value: Option<Value>,
}

/// How a field is compared.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TriggerCondition {
    /// It equals the value, type included.
    Equals,
    /// It does not equal the value.
    NotEquals,
    /// It is a number above the value.
    GreaterThan,
    /// It is a number below the value.
    LessThan,
    /// Its text contains the value's.
    Contains,
    /// It is there and not null.
    Exists,
    /// It is absent or null.
    NotExists,
}

/// What is known about a TargetApp.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetAppStatus {
    /// The metadata.generation this status was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The state of the watching in one word. Programs should read the conditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<MonitorState>,

    /// When the poll ran that last changed this status. Polls that change nothing do not move it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_polled: Option<Time>,

    /// When the application's state last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition: Option<Time>,

    /// What last went wrong. Absent: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,

    /// How many actions were carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions_executed: Option<i64>,

    /// How many Events were published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events_generated: Option<i64>,

    /// The state in detail: Ready, EndpointReachable, Degraded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "condition::list_schema")]
    pub conditions: Vec<Condition>,
}

/// The state of the watching in one word.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum MonitorState {
    /// Not polled yet.
    Initializing,
    /// Polled.
    Monitoring,
    /// It cannot be polled.
    Failed,
    /// Not polled any more.
    Stopped,
}

/// Asks for `trigger.value` unless the condition compares with nothing.
///
/// A CEL rule cannot say it: the value may be of any type, and CEL does not see such fields. Where
/// neither branch holds, the API server reports the one of which more did, and the bounds in the
/// first are there to make it that one: "value: Required" helps, "condition: Unsupported" does not.
pub(crate) fn require_trigger_value(crd: CustomResourceDefinition) -> CustomResourceDefinition {
    edit_schema(crd, &mut |schema| {
        let trigger = schema
            .pointer_mut("/properties/spec/properties/actions/items/properties/trigger")
            .and_then(Value::as_object_mut)
            .expect("a TargetApp must have triggers");
        trigger.insert(
            "anyOf".to_owned(),
            json!([
                {
                    "required": ["value"],
                    "properties": { "condition": { "minLength": 1 }, "field": { "minLength": 0 } }
                },
                { "properties": { "condition": { "enum": ["exists", "not_exists"] } } }
            ]),
        );
    })
}

fn graphql_path() -> String {
    "/graphql".to_owned()
}

fn any_value_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "x-kubernetes-preserve-unknown-fields": true })
}

fn parameters_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}
