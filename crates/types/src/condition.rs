//! The condition list that every status carries (KEP-1623), and its schema.
//!
//! The Rust type is Kubernetes' own. Its published schema has no bounds and no merge key, so ours
//! is written out here: a list keyed by `type`, of which two writers can each own an entry.

pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::{Schema, SchemaGenerator, json_schema};

/// The schema of `status.conditions`.
///
/// Only `type` and `status` are required: the contracts we keep never asked for more, and a
/// condition that somebody else wrote must survive our writes.
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
