//! Role: rights in a namespace.

use jiff::Timestamp;
use serde_json::Value;

use super::rbac;
use crate::api::{
    behaviour::{Behaviour, Column, Names},
    fault::Faults,
};

pub struct Role;

impl Behaviour for Role {
    fn names(&self) -> Names {
        Names::PathSegment
    }

    fn default(&self, object: &mut Value) {
        rbac::default_rules(object);
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        rbac::validate_rules(object, true, faults);
    }

    fn create_on_update(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        rbac::ROLE_COLUMNS
    }

    fn cells(&self, object: &Value, _now: Timestamp) -> Vec<Value> {
        rbac::role_cells(object)
    }
}
