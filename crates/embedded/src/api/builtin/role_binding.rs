//! RoleBinding: rights in a namespace for users, groups and service accounts.

use jiff::Timestamp;
use serde_json::Value;

use super::rbac;
use crate::api::{
    behaviour::{Behaviour, Column, Names, Part},
    fault::Faults,
};

pub struct RoleBinding;

impl Behaviour for RoleBinding {
    fn names(&self) -> Names {
        Names::PathSegment
    }

    fn default(&self, object: &mut Value) {
        rbac::default_binding(object);
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        rbac::validate_binding(object, &["Role", "ClusterRole"], faults);
    }

    fn validate_update(&self, new: &Value, old: &Value, _part: Part, faults: &mut Faults) {
        rbac::keeps_its_role(new, old, faults);
    }

    fn create_on_update(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        rbac::BINDING_COLUMNS
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        rbac::binding_cells(object, now)
    }
}
