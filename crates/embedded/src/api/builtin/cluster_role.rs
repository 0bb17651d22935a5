//! ClusterRole: rights in the whole cluster, or gathered from other roles by their labels.

use jiff::Timestamp;
use serde_json::Value;

use super::{forms::each, rbac};
use crate::api::{
    behaviour::{Behaviour, Column, Names},
    fault::{Faults, Path},
    object::is_empty,
    valid,
};

pub struct ClusterRole;

impl Behaviour for ClusterRole {
    fn names(&self) -> Names {
        Names::PathSegment
    }

    fn default(&self, object: &mut Value) {
        rbac::default_rules(object);
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        rbac::validate_rules(object, false, faults);
        let rule = &object["aggregationRule"];
        if rule.is_null() {
            return;
        }
        let path = Path::new("aggregationRule");
        if is_empty(&rule["clusterRoleSelectors"]) {
            let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
            faults.required(&path.child("clusterRoleSelectors"), detail);
        }
        for (path, selector) in each(rule, "clusterRoleSelectors", &path) {
            let before = faults.len();
            valid::label_selector(selector, &path, faults);
            if faults.len() > before {
                faults.invalid(&path, &Value::Null, "invalid label selector.");
            }
        }
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
