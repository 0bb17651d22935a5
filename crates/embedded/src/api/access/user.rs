//! Who somebody is, in the terms that roles are bound to.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::api::valid;

/// The group that may do everything, whatever the roles say.
pub const MASTERS: &str = "system:masters";
/// Everybody who has shown who they are.
pub const ALL_AUTHENTICATED: &str = "system:authenticated";
/// Everybody else.
pub const ALL_UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of everybody else.
pub const ANONYMOUS: &str = "system:anonymous";
/// Every service account.
pub const ALL_SERVICE_ACCOUNTS: &str = "system:serviceaccounts";

const SERVICE_ACCOUNT_PREFIX: &str = "system:serviceaccount:";

/// A caller.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct User {
    pub name: String,
    /// Empty if nobody gave one.
    pub uid: String,
    pub groups: Vec<String>,
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// Somebody who did not say who they are.
    pub fn anonymous() -> Self {
        Self { name: ANONYMOUS.to_owned(), groups: vec![ALL_UNAUTHENTICATED.to_owned()], ..Self::default() }
    }

    /// The person whose cluster this is.
    pub fn admin() -> Self {
        let groups = vec![MASTERS.to_owned(), ALL_AUTHENTICATED.to_owned()];
        Self { name: "kubernetes-admin".to_owned(), groups, ..Self::default() }
    }

    /// The built-in controllers, which are part of the cluster.
    pub fn controllers() -> Self {
        let groups = vec![MASTERS.to_owned(), ALL_AUTHENTICATED.to_owned()];
        Self { name: "system:kube-controller-manager".to_owned(), groups, ..Self::default() }
    }

    /// A service account, for example one that a controller of ours runs under.
    pub fn service_account(namespace: &str, name: &str, uid: &str) -> Self {
        let mut groups = service_account_groups(namespace);
        groups.push(ALL_AUTHENTICATED.to_owned());
        let name = service_account_user(namespace, name);
        Self { name, uid: uid.to_owned(), groups, ..Self::default() }
    }

    /// Whether they may do everything.
    pub fn is_master(&self) -> bool {
        self.groups.iter().any(|group| group == MASTERS)
    }

    /// `userInfo` as the reviews show it.
    pub fn info(&self) -> Value {
        let mut info = Map::new();
        info.insert("username".to_owned(), json!(self.name));
        if !self.uid.is_empty() {
            info.insert("uid".to_owned(), json!(self.uid));
        }
        if !self.groups.is_empty() {
            info.insert("groups".to_owned(), json!(self.groups));
        }
        if !self.extra.is_empty() {
            info.insert("extra".to_owned(), json!(self.extra));
        }
        Value::Object(info)
    }
}

/// The user name of a service account.
pub fn service_account_user(namespace: &str, name: &str) -> String {
    format!("{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}")
}

/// The group of a namespace's service accounts.
pub fn service_account_group(namespace: &str) -> String {
    format!("{ALL_SERVICE_ACCOUNTS}:{namespace}")
}

/// The groups that a service account has by being one.
pub(super) fn service_account_groups(namespace: &str) -> Vec<String> {
    vec![ALL_SERVICE_ACCOUNTS.to_owned(), service_account_group(namespace)]
}

/// Namespace and name, if this is a service account's user name.
pub(super) fn split_service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(SERVICE_ACCOUNT_PREFIX)?.split_once(':')?;
    let valid = valid::dns_label(namespace).is_none() && valid::dns_subdomain(name).is_none();
    valid.then_some((namespace, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_name_is_a_service_account() {
        assert_eq!(split_service_account("system:serviceaccount:a:b"), Some(("a", "b")));
        for other in
            ["system:serviceaccount:a", "system:serviceaccount:a:", "system:serviceaccount:a:b:c", "a:b"]
        {
            assert_eq!(split_service_account(other), None, "{other}");
        }
    }
}
