//! The `token` subresource of service accounts.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{
    authenticator::Authenticator,
    token::{AUDIENCE, About as Claim, Claims, MAX_LENGTH, Reference},
    user::service_account_user,
};
use crate::api::{
    error::{About, ApiError, Result},
    fault::{Faults, Path},
    object,
};

const MIN_SECONDS: i64 = 10 * 60;
const DEFAULT_SECONDS: i64 = 60 * 60;
const MAX_SECONDS: i64 = 1 << 32;

impl Authenticator {
    /// Answers a TokenRequest for a service account that exists.
    pub fn issue(&self, request: &Value, account: &Value) -> Result<Value> {
        let (namespace, name) = (object::namespace(account), object::name(account));
        check_account(request, namespace, name)?;
        let spec = &request["spec"];
        let seconds = lifetime(spec)?;
        let audiences = match object::items(spec, "/audiences") {
            [] => vec![AUDIENCE.to_owned()],
            given => given.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        };
        let bound = &spec["boundObjectRef"];
        let reference = Reference { name: name.to_owned(), uid: object::meta(account, "uid").to_owned() };
        let mut about =
            Claim { namespace: namespace.to_owned(), serviceaccount: reference, ..Claim::default() };
        if !bound.is_null() {
            self.bind(bound, &mut about)?;
        }

        let now = self.clock.now();
        let ends = now.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(jiff::Timestamp::MAX);
        let claims = Claims {
            aud: audiences,
            exp: ends.as_second(),
            iat: now.as_second(),
            iss: AUDIENCE.to_owned(),
            jti: self.rng.uuid(),
            nbf: now.as_second(),
            sub: service_account_user(namespace, name),
            about,
        };
        let token = self.signer.sign(&claims).map_err(ApiError::internal)?;
        if token.len() > MAX_LENGTH {
            let message =
                format!("the token would be longer than {MAX_LENGTH} bytes: ask for fewer audiences");
            return Err(ApiError::bad_request(message));
        }
        Ok(json!({
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": object::meta(account, "uid"),
                "creationTimestamp": object::timestamp(now),
            },
            "spec": { "audiences": claims.aud, "expirationSeconds": seconds, "boundObjectRef": bound },
            "status": { "token": token, "expirationTimestamp": object::timestamp(ends) },
        }))
    }

    /// Ties a token to an object, with which it ends.
    fn bind(&self, bound: &Value, about: &mut Claim) -> Result<()> {
        let text = |field: &str| bound[field].as_str().unwrap_or_default();
        let (kind, name) = (text("kind"), text("name"));
        let (resource, namespace) = match (text("apiVersion"), kind) {
            ("v1", "Pod") => ("pods", about.namespace.as_str()),
            ("v1", "Secret") => ("secrets", about.namespace.as_str()),
            ("v1", "Node") => ("nodes", ""),
            (version, kind) => {
                let slash = if version.contains('/') { "" } else { "/" };
                let message = format!("cannot bind token to object of type {slash}{version}, Kind={kind}");
                return Err(ApiError::bad_request(message));
            }
        };
        let object = self.objects.get(resource, namespace, name);
        let object = object.ok_or_else(|| ApiError::not_found(About { group: "", resource, name }))?;
        let uid = object::meta(&object, "uid");
        if kind == "Pod" && object::text(&object, "/spec/serviceAccountName") != about.serviceaccount.name {
            return Err(ApiError::bad_request(format!(
                "cannot bind token for serviceaccount {:?} to pod running with different serviceaccount name.",
                about.serviceaccount.name
            )));
        }
        if !text("uid").is_empty() && text("uid") != uid {
            let why = format!(
                "the UID in the bound object reference ({}) does not match the UID in record. The object might \
                 have been deleted and then recreated",
                text("uid")
            );
            return Err(ApiError::conflict(About { group: "", resource: kind, name }, &why));
        }
        let reference = Reference { name: name.to_owned(), uid: uid.to_owned() };
        match kind {
            "Pod" => {
                about.node = self.node_of(&object);
                about.pod = Some(reference);
            }
            "Secret" => about.secret = Some(reference),
            _ => about.node = Some(reference),
        }
        Ok(())
    }

    fn node_of(&self, pod: &Value) -> Option<Reference> {
        let name = object::text(pod, "/spec/nodeName");
        let node = (!name.is_empty()).then(|| self.objects.get("nodes", "", name))?;
        let uid = node.as_ref().map(|node| object::meta(node, "uid").to_owned());
        Some(Reference { name: name.to_owned(), uid: uid.unwrap_or_default() })
    }
}

/// The request may name its account, but no other.
fn check_account(request: &Value, namespace: &str, name: &str) -> Result<()> {
    let mut faults = Faults::default();
    let names =
        [("name", "service account name", name), ("namespace", "service account namespace", namespace)];
    for (field, what, actual) in names {
        let given = object::meta(request, field);
        if !given.is_empty() && given != actual {
            let path = Path::new("metadata").child(field);
            faults.invalid_text(&path, given, format!("must match the {what} if specified"));
        }
    }
    refuse(name, &faults)
}

fn lifetime(spec: &Value) -> Result<i64> {
    let given = &spec["expirationSeconds"];
    let seconds = if given.is_null() { DEFAULT_SECONDS } else { given.as_i64().unwrap_or_default() };
    let path = Path::new("spec").child("expirationSeconds");
    let mut faults = Faults::default();
    if seconds < MIN_SECONDS {
        faults.invalid(&path, given, "may not specify a duration less than 10 minutes");
    }
    if seconds > MAX_SECONDS {
        faults.invalid(&path, given, "may not specify a duration larger than 2^32 seconds");
    }
    refuse("", &faults).map(|()| seconds)
}

fn refuse(name: &str, faults: &Faults) -> Result<()> {
    if faults.is_empty() {
        return Ok(());
    }
    let about = About { group: "authentication.k8s.io", resource: "TokenRequest", name };
    Err(ApiError::invalid(about, faults))
}
