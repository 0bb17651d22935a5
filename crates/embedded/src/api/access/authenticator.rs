//! Who calls: no token is anonymous, the administrator's is the administrator, a service account's is that
//! account while it lasts, and any other token is refused, even where nobody needs one.
//!
//! Tokens in Secrets of type `kubernetes.io/service-account-token` are not served: they never expire.

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    sync::Arc,
};

use anneal_kit::{Clock, Rng};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use http::{HeaderMap, header::AUTHORIZATION};
use jiff::Timestamp;
use ring::hmac;
use serde_json::Value;

use super::{
    token::{AUDIENCE, Claims, MAX_LENGTH, Reference, Signer},
    user::User,
};
use crate::api::{
    error::{ApiError, Result},
    object,
};

/// What may be off between clocks, as upstream has it; also how long a deleted object's tokens live on.
const LEEWAY_SECONDS: i64 = 60;

/// Reads the objects that tokens depend on: `serviceaccounts`, `pods`, `secrets` and `nodes` of the core
/// group. Asked on every request with a service account's token, so it must be quick; only the metadata
/// are looked at then.
pub trait Objects: Send + Sync {
    /// An object as it is now; `namespace` is empty for nodes.
    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Value>;
}

/// What must be kept between starts, and from everybody.
#[derive(Clone)]
pub struct Secrets {
    /// The administrator's token.
    pub admin_token: String,
    /// Signs service accounts' tokens.
    pub signing_key: [u8; 32],
}

impl Secrets {
    /// New ones, of 256 bits each.
    pub fn generate(rng: &Rng) -> Self {
        let admin_token = BASE64_URL_SAFE_NO_PAD.encode(rng.bytes::<32>());
        Self { admin_token, signing_key: rng.bytes() }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

/// Tells who calls.
pub struct Authenticator {
    pub(super) signer: Signer,
    admin: Admin,
    pub(super) objects: Arc<dyn Objects>,
    pub(super) clock: Clock,
    pub(super) rng: Rng,
}

/// The administrator's token as a tag under a key of this process: tags compare in constant time.
struct Admin {
    key: hmac::Key,
    tag: hmac::Tag,
}

/// Whose a token is, and which of the audiences asked for it is for.
#[derive(Debug)]
pub(super) struct Holder {
    pub user: User,
    pub audiences: Vec<String>,
}

/// Why a token is not good. Says nothing of the token but what its holder knows.
#[derive(Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("invalid bearer token")]
    Unknown,
    #[error("[invalid bearer token, token audiences {0} is invalid for the target audiences {1}]")]
    Audience(String, String),
    #[error("[invalid bearer token, service account token has expired]")]
    Expired,
    #[error("[invalid bearer token, service account token is not valid yet]")]
    Early,
    #[error("[invalid bearer token, {resource} {name:?} not found]")]
    Gone { resource: &'static str, name: String },
    #[error("[invalid bearer token, service account token has been invalidated]")]
    Invalidated,
}

impl Authenticator {
    pub fn new(secrets: &Secrets, objects: Arc<dyn Objects>, clock: Clock, rng: Rng) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &rng.bytes::<32>());
        let tag = hmac::sign(&key, secrets.admin_token.as_bytes());
        let signer = Signer::new(&secrets.signing_key);
        Self { signer, admin: Admin { key, tag }, objects, clock, rng }
    }

    /// Who sent these headers; impersonation is not looked at.
    pub fn authenticate(&self, headers: &HeaderMap) -> Result<User> {
        let Some(header) = headers.get(AUTHORIZATION) else { return Ok(User::anonymous()) };
        // What is not even text is some other scheme's, or a token that nobody issued.
        let text = header.to_str().map_err(|_| ApiError::unauthorized())?;
        match bearer(text) {
            None => Ok(User::anonymous()),
            Some(token) => match self.holder(token, &[]) {
                Ok(holder) => Ok(holder.user),
                Err(_) => Err(ApiError::unauthorized()),
            },
        }
    }

    /// Whose a token is, if it is good for one of these audiences; none stands for this server.
    pub(super) fn holder(&self, token: &str, audiences: &[String]) -> Result<Holder, Refusal> {
        let own = [AUDIENCE.to_owned()];
        let wanted = if audiences.is_empty() { &own } else { audiences };
        let both = |granted: &[String]| -> Vec<String> {
            let granted: HashSet<_> = granted.iter().collect();
            wanted.iter().filter(|audience| granted.contains(audience)).cloned().collect()
        };
        if token.len() <= MAX_LENGTH
            && hmac::verify(&self.admin.key, token.as_bytes(), self.admin.tag.as_ref()).is_ok()
        {
            let audiences = both(&own);
            return match audiences.is_empty() {
                true => Err(Refusal::Unknown),
                false => Ok(Holder { user: User::admin(), audiences }),
            };
        }
        let claims =
            self.signer.read(token).filter(|claims| claims.iss == AUDIENCE).ok_or(Refusal::Unknown)?;
        let audiences = both(&claims.aud);
        if audiences.is_empty() {
            return Err(Refusal::Audience(quoted(&claims.aud), quoted(wanted)));
        }
        let now = self.clock.now();
        in_time(&claims, now)?;
        self.still_bound(&claims, now)?;
        Ok(Holder { user: user_of(&claims), audiences })
    }

    /// Whether the account and the object that a token is bound to are still the same.
    fn still_bound(&self, claims: &Claims, now: Timestamp) -> Result<(), Refusal> {
        let about = &claims.about;
        let same = |resource: &'static str, namespace: &str, reference: &Reference| {
            let found = self.objects.get(resource, namespace, &reference.name);
            let found = found.ok_or_else(|| Refusal::Gone { resource, name: reference.name.clone() })?;
            let going = object::meta(&found, "deletionTimestamp").parse::<Timestamp>().ok();
            let gone = going.is_some_and(|at| at.as_second() + LEEWAY_SECONDS < now.as_second());
            if gone || object::meta(&found, "uid") != reference.uid {
                Err(Refusal::Invalidated)
            } else {
                Ok(())
            }
        };
        same("serviceaccounts", &about.namespace, &about.serviceaccount)?;
        match (&about.pod, &about.secret, &about.node) {
            // A pod's node is told for information: the pod itself cannot move.
            (Some(pod), _, _) => same("pods", &about.namespace, pod),
            (_, Some(secret), _) => same("secrets", &about.namespace, secret),
            (_, _, Some(node)) => same("nodes", "", node),
            _ => Ok(()),
        }
    }
}

/// The token of an `Authorization` header, if it has one.
fn bearer(header: &str) -> Option<&str> {
    let mut words = header.trim().split(' ');
    let scheme = words.next()?;
    let token = words.next().filter(|token| !token.is_empty())?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

fn in_time(claims: &Claims, now: Timestamp) -> Result<(), Refusal> {
    let now = now.as_second();
    if now - LEEWAY_SECONDS > claims.exp {
        Err(Refusal::Expired)
    } else if now + LEEWAY_SECONDS < claims.nbf {
        Err(Refusal::Early)
    } else {
        Ok(())
    }
}

fn user_of(claims: &Claims) -> User {
    let about = &claims.about;
    let account = &about.serviceaccount;
    let mut extra = BTreeMap::new();
    let mut tell = |key: &str, value: String| {
        if !value.is_empty() {
            extra.insert(format!("authentication.kubernetes.io/{key}"), vec![value]);
        }
    };
    tell("credential-id", format!("JTI={}", claims.jti));
    for (kind, reference) in [("pod", &about.pod), ("node", &about.node)] {
        if let Some(Reference { name, uid }) = reference {
            tell(&format!("{kind}-name"), name.clone());
            tell(&format!("{kind}-uid"), uid.clone());
        }
    }
    User { extra, ..User::service_account(&about.namespace, &account.name, &account.uid) }
}

/// A list as Go prints it, which is how upstream's messages show it. A message is for people: the rest of a
/// long list is left out.
pub(super) fn quoted(list: &[String]) -> String {
    const MAX_SHOWN: usize = 100;
    let mut items: Vec<_> = list.iter().take(MAX_SHOWN).map(|item| format!("{item:?}")).collect();
    if list.len() > MAX_SHOWN {
        items.push("…".to_owned());
    }
    format!("[{}]", items.join(" "))
}

#[cfg(test)]
mod tests;
