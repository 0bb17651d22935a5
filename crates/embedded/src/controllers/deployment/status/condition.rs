//! The conditions of a Deployment, as they become.

use jiff::Timestamp;
use k8s_openapi::{api::apps::v1::DeploymentCondition, apimachinery::pkg::apis::meta::v1::Time};

/// Conditions by type. One that says the same as before stays as it was, times and all.
pub struct Conditions {
    list: Vec<DeploymentCondition>,
    now: Time,
}

impl Conditions {
    pub fn new(before: Option<&[DeploymentCondition]>, now: Timestamp) -> Self {
        let now = Time(Timestamp::from_second(now.as_second()).unwrap_or(now));
        Self { list: before.unwrap_or_default().to_vec(), now }
    }

    pub fn get(&self, kind: &str) -> Option<&DeploymentCondition> {
        self.list.iter().find(|condition| condition.type_ == kind)
    }

    pub fn remove(&mut self, kind: &str) {
        self.list.retain(|condition| condition.type_ != kind);
    }

    /// Says something, which is no news if status and reason are the same.
    pub fn set(&mut self, kind: &str, status: &str, reason: &str, message: &str) {
        let condition = self.condition(kind, status, reason, message);
        self.put(condition);
    }

    /// Says something that is news even if it was said before.
    pub fn renew(&mut self, kind: &str, status: &str, reason: &str, message: &str) {
        let condition = self.condition(kind, status, reason, message);
        self.replace(condition);
    }

    /// Says what somebody else has said.
    pub fn put(&mut self, condition: DeploymentCondition) {
        let known = self.get(&condition.type_);
        if known.is_none_or(|known| known.status != condition.status || known.reason != condition.reason) {
            self.replace(condition);
        }
    }

    /// None if there are none.
    pub fn finish(self) -> Option<Vec<DeploymentCondition>> {
        Some(self.list).filter(|list| !list.is_empty())
    }

    fn condition(&self, kind: &str, status: &str, reason: &str, message: &str) -> DeploymentCondition {
        DeploymentCondition {
            type_: kind.to_owned(),
            status: status.to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message.to_owned()),
            last_update_time: Some(self.now.clone()),
            last_transition_time: Some(self.now.clone()),
        }
    }

    fn replace(&mut self, mut condition: DeploymentCondition) {
        if let Some(known) = self.get(&condition.type_).filter(|known| known.status == condition.status) {
            condition.last_transition_time.clone_from(&known.last_transition_time);
        }
        self.remove(&condition.type_);
        self.list.push(condition);
    }
}
