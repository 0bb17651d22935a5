//! The tokens of service accounts: JSON Web Tokens with the claims that TokenRequest makes upstream.
//!
//! They are signed by HMAC-SHA256: the only one who issues and reads them is this server, others ask it by
//! TokenReview. One secret is simpler to keep than a key pair, and reading a token costs microseconds.
//! The header is a constant, compared as a whole, so that no algorithm is ever chosen by a caller.

use std::sync::LazyLock;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::hmac;
use serde::{Deserialize, Serialize};

/// The name this server goes by, as issuer and as the audience it takes tokens for.
pub const AUDIENCE: &str = "https://kubernetes.default.svc.cluster.local";

/// Ours have some 900 bytes; the rest is for long lists of audiences.
pub(super) const MAX_LENGTH: usize = 16 * 1024;

static HEADER: LazyLock<String> =
    LazyLock::new(|| BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256","typ":"JWT"}"#));

/// What a token says.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Claims {
    pub aud: Vec<String>,
    /// Seconds since 1970, as the other two times.
    pub exp: i64,
    pub iat: i64,
    pub iss: String,
    pub jti: String,
    #[serde(rename = "kubernetes.io")]
    pub about: About,
    pub nbf: i64,
    pub sub: String,
}

/// Whose token it is, and the object with which it ends.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct About {
    pub namespace: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<Reference>,
    pub serviceaccount: Reference,
}

#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Reference {
    pub name: String,
    /// Empty for the node of a pod, if there is no such Node.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

/// Signs tokens and knows its own.
pub(super) struct Signer(hmac::Key);

impl Signer {
    pub(super) fn new(secret: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    pub(super) fn sign(&self, claims: &Claims) -> serde_json::Result<String> {
        let claims = BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_vec(claims)?);
        let signed = format!("{}.{claims}", *HEADER);
        let signature = BASE64_URL_SAFE_NO_PAD.encode(hmac::sign(&self.0, signed.as_bytes()));
        Ok(format!("{signed}.{signature}"))
    }

    /// What a token says, if it is one of ours. Whether it is still good is another question.
    pub(super) fn read(&self, token: &str) -> Option<Claims> {
        if token.len() > MAX_LENGTH {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let claims = signed.strip_prefix(HEADER.as_str())?.strip_prefix('.')?;
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).ok()?;
        hmac::verify(&self.0, signed.as_bytes(), &signature).ok()?;
        serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(claims).ok()?).ok()
    }
}
