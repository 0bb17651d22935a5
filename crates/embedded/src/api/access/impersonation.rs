//! Speaking for somebody else: the `Impersonate-*` headers.
//!
//! Each thing that is assumed needs the verb `impersonate` on it: `users`, `groups` and `serviceaccounts` of
//! the core group, `uids` and `userextras/<key>` of `authentication.k8s.io`. Upstream's newer verbs
//! `impersonate:<mode>` and `impersonate-on:<mode>:<verb>`, which allow less, are not known here.

use std::collections::BTreeMap;

use http::HeaderMap;

use super::{
    attributes::Attributes,
    policy::Policy,
    user::{
        ALL_AUTHENTICATED, ALL_UNAUTHENTICATED, ANONYMOUS, User, service_account_groups,
        split_service_account,
    },
};
use crate::api::error::{ApiError, Result};

const EXTRA: &str = "impersonate-extra-";
const GROUP_OF_EXTRAS: &str = "authentication.k8s.io";

/// Whom a caller speaks for, `None` if for themselves.
pub fn impersonate(headers: &HeaderMap, caller: &User, policy: &Policy) -> Result<Option<User>> {
    let Some(wanted) = wanted(headers)? else { return Ok(None) };
    let ask = |what: Attributes<'_>| policy.authorize(caller, &Attributes { verb: "impersonate", ..what });
    let account = split_service_account(&wanted.name);
    match account {
        Some((namespace, name)) => {
            ask(Attributes { resource: "serviceaccounts", namespace, name, ..Attributes::default() })?;
        }
        None => ask(Attributes { resource: "users", name: &wanted.name, ..Attributes::default() })?,
    }
    for group in &wanted.groups {
        ask(Attributes { resource: "groups", name: group, ..Attributes::default() })?;
    }
    let of_extras = Attributes { group: GROUP_OF_EXTRAS, ..Attributes::default() };
    for (key, values) in &wanted.extra {
        for value in values {
            ask(Attributes { resource: "userextras", subresource: key, name: value, ..of_extras })?;
        }
    }
    if !wanted.uid.is_empty() {
        ask(Attributes { resource: "uids", name: &wanted.uid, ..of_extras })?;
    }
    let namespace = account.map(|(namespace, _)| namespace.to_owned());
    Ok(Some(User { groups: groups(&wanted, namespace.as_deref()), ..wanted }))
}

/// What the headers ask for, word by word.
fn wanted(headers: &HeaderMap) -> Result<Option<User>> {
    let text = |name: &str| match headers.get(name) {
        Some(value) => plain(value).map(str::to_owned),
        None => Ok(String::new()),
    };
    let (name, uid) = (text("impersonate-user")?, text("impersonate-uid")?);
    let groups = headers.get_all("impersonate-group").iter();
    let groups: Vec<_> = groups.map(|group| plain(group).map(str::to_owned)).collect::<Result<_>>()?;
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (header, value) in headers {
        if let Some(key) = header.as_str().strip_prefix(EXTRA) {
            extra.entry(unescape(key)).or_default().push(plain(value)?.to_owned());
        }
    }
    if !name.is_empty() {
        return Ok(Some(User { name, uid, groups, extra }));
    }
    if groups.is_empty() && uid.is_empty() && extra.is_empty() {
        return Ok(None);
    }
    Err(ApiError::bad_request("requested a uid, groups or extras without impersonating a user name"))
}

fn plain(value: &http::HeaderValue) -> Result<&str> {
    value.to_str().map_err(|_| ApiError::bad_request("an impersonation header is not plain text"))
}

/// The groups that come with who it is.
fn groups(wanted: &User, namespace: Option<&str>) -> Vec<String> {
    let mut groups = wanted.groups.clone();
    if let Some(namespace) = namespace
        && groups.is_empty()
    {
        groups = service_account_groups(namespace);
    }
    let has = |group: &str| groups.iter().any(|own| own == group);
    let add = match wanted.name == ANONYMOUS {
        true => (!has(ALL_UNAUTHENTICATED)).then_some(ALL_UNAUTHENTICATED),
        false => (!has(ALL_AUTHENTICATED) && !has(ALL_UNAUTHENTICATED)).then_some(ALL_AUTHENTICATED),
    };
    groups.extend(add.map(str::to_owned));
    groups
}

/// Undoes percent-encoding; a key that is not encoded rightly is taken as it is.
fn unescape(key: &str) -> String {
    fn decode(key: &str) -> Option<String> {
        let mut bytes = Vec::with_capacity(key.len());
        let mut rest = key.bytes();
        while let Some(byte) = rest.next() {
            bytes.push(match byte {
                b'%' => {
                    let mut digit = || char::from(rest.next()?).to_digit(16);
                    u8::try_from(digit()? * 16 + digit()?).ok()?
                }
                other => other,
            });
        }
        String::from_utf8(bytes).ok()
    }
    decode(key).unwrap_or_else(|| key.to_owned())
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};
    use serde_json::json;

    use super::*;
    use crate::api::access::fixtures::{binding, policy, role, rule, user};

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    fn as_admin(pairs: &[(&str, &str)]) -> Result<Option<User>> {
        impersonate(&headers(pairs), &User::admin(), &Policy::default())
    }

    #[test]
    fn groups_come_with_who_it_is() {
        let groups = |pairs: &[(&str, &str)]| as_admin(pairs).unwrap().unwrap().groups;
        assert_eq!(groups(&[("impersonate-user", "bob")]), [ALL_AUTHENTICATED]);
        assert_eq!(
            groups(&[("impersonate-user", "bob"), ("impersonate-group", "g"), ("impersonate-group", "h")]),
            ["g", "h", ALL_AUTHENTICATED]
        );
        assert_eq!(
            groups(&[("impersonate-user", "system:serviceaccount:a:b")]),
            ["system:serviceaccounts", "system:serviceaccounts:a", ALL_AUTHENTICATED]
        );
        assert_eq!(groups(&[("impersonate-user", ANONYMOUS)]), [ALL_UNAUTHENTICATED]);
        assert_eq!(
            groups(&[("impersonate-user", "bob"), ("impersonate-group", ALL_UNAUTHENTICATED)]),
            [ALL_UNAUTHENTICATED]
        );
    }

    #[test]
    fn extras_are_decoded() {
        let pairs = [
            ("impersonate-user", "bob"),
            ("impersonate-uid", "5"),
            ("Impersonate-Extra-Acme.com%2FPro", "a"),
            ("Impersonate-Extra-acme.com%2fpro", "b"),
            ("Impersonate-Extra-bad%2", "c"),
        ];
        let user = as_admin(&pairs).unwrap().unwrap();
        assert_eq!(user.uid, "5");
        assert_eq!(user.extra["acme.com/pro"], ["a", "b"]);
        assert_eq!(user.extra["bad%2"], ["c"]);
    }

    #[test]
    fn nobody_can_be_nobody_with_groups() {
        assert_eq!(as_admin(&[("impersonate-user", "")]).unwrap(), None);
        for header in ["impersonate-group", "impersonate-uid", "impersonate-extra-a"] {
            assert_eq!(as_admin(&[(header, "x")]).expect_err(header).code, 400);
        }
    }

    #[test]
    fn each_part_needs_its_own_right() {
        let extras = json!({
            "apiGroups": [GROUP_OF_EXTRAS], "resources": ["userextras/acme.com/pro"], "verbs": ["impersonate"]
        });
        let policy = policy(&[
            role("ClusterRole", "imp", json!([rule("impersonate", "users"), extras])),
            binding("ClusterRoleBinding", "imp", "ClusterRole", "imp", &[("User", "ann")]),
        ]);
        let ask = |pairs: &[(&str, &str)]| impersonate(&headers(pairs), &user("ann", &[]), &policy);
        assert!(ask(&[("impersonate-user", "bob"), ("impersonate-extra-acme.com%2Fpro", "a")]).is_ok());
        let error = ask(&[("impersonate-user", "bob"), ("impersonate-group", "g")]).expect_err("a group");
        assert_eq!(
            error.message,
            "groups \"g\" is forbidden: User \"ann\" cannot impersonate resource \"groups\" in API group \"\" \
             at the cluster scope"
        );
        for header in ["impersonate-uid", "impersonate-extra-other"] {
            assert_eq!(ask(&[("impersonate-user", "bob"), (header, "x")]).expect_err(header).code, 403);
        }
        let error = ask(&[("impersonate-user", "system:serviceaccount:a:b")]).expect_err("an account");
        assert!(
            error.message.contains("resource \"serviceaccounts\"")
                && error.message.contains("namespace \"a\"")
        );
    }
}
