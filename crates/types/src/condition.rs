//! The condition list that every status carries (KEP-1623), and its schema.
//!
//! The contracts we keep require no more of a condition than `type` and `status`, and a condition that
//! somebody else wrote must survive our writes. Kubernetes' own Rust type cannot hold such a one, so
//! there is one here that can: what it reads, it writes back as it was.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// One aspect of an object's present state.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Which aspect, in CamelCase.
    #[serde(rename = "type")]
    pub type_: String,

    /// `True`, `False` or `Unknown`.
    pub status: String,

    /// The generation this was decided for. Ours always have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// When `status` last changed. Ours always have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,

    /// Why, as one CamelCase word. Ours always have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,

    /// Why, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The schema of `status.conditions`: a list keyed by `type`, of which two writers can each own an entry.
pub(crate) fn list_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "description": "One aspect of the object's present state.",
            "required": ["type", "status"],
            "properties": {
                "type": {
                    "description": "Which aspect, in CamelCase, for example Ready.",
                    "type": "string",
                    "maxLength": 316,
                    "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
                },
                "status": {
                    "description": "True, False, or Unknown while it could not be told yet.",
                    "type": "string",
                    "enum": ["True", "False", "Unknown"]
                },
                "observedGeneration": {
                    "description": "The metadata.generation this was decided for. Lower than the present generation: out of date.",
                    "type": "integer",
                    "format": "int64",
                    "minimum": 0
                },
                "lastTransitionTime": {
                    "description": "When status last changed from one value to another.",
                    "type": "string",
                    "format": "date-time"
                },
                "reason": {
                    "description": "Why, as one CamelCase word for programs.",
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 1024,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
                },
                "message": {
                    "description": "Why, as a sentence for people. May be empty.",
                    "type": "string",
                    "maxLength": 32768
                }
            }
        }
    })
}
