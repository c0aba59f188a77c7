//! The claims of service account tokens.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use kinds::user::SERVICE_ACCOUNT_PREFIX;

/// Name and UID of an object when the token was issued.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// Name of the object.
    pub name: String,
    /// UID of the object; empty for a Node that did not exist.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

/// The objects that a token is bound to; the token becomes invalid when one of them is deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// Namespace of the account, the Pod and the Secret.
    pub namespace: String,
    /// The Node that the token is bound to, or on which the Pod runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Reference>,
    /// The Pod that the token is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<Reference>,
    /// The Secret that the token is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<Reference>,
    /// The service account.
    pub serviceaccount: Reference,
    /// Time, in seconds since the epoch, after which a client should use a newer token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warnafter: Option<i64>,
}

/// The claims of a token; times are in seconds since the epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// Audiences of the token.
    pub aud: Vec<String>,
    /// Time of expiry.
    pub exp: i64,
    /// Time of issue.
    #[serde(default)]
    pub iat: i64,
    /// Issuer.
    pub iss: String,
    /// ID of the token.
    #[serde(default)]
    pub jti: String,
    /// The objects that the token is bound to.
    #[serde(rename = "kubernetes.io")]
    pub bound: Bound,
    /// Start of validity.
    #[serde(default)]
    pub nbf: i64,
    /// User name of the service account.
    pub sub: String,
}

impl Claims {
    /// Reads the claims of a token of this issuer; `None` if they are those of another token.
    pub(super) fn read(payload: &[u8], issuer: &str) -> Option<Self> {
        serde_json::from_slice(payload).ok().filter(|claims: &Self| claims.iss == issuer)
    }

    pub(super) fn new(
        issuer: &str,
        audiences: Vec<String>,
        now: i64,
        seconds: i64,
        id: String,
        bound: Bound,
    ) -> Self {
        Self {
            aud: audiences,
            exp: now.saturating_add(seconds),
            iat: now,
            iss: issuer.to_owned(),
            jti: id,
            nbf: now,
            sub: format!("{SERVICE_ACCOUNT_PREFIX}{}:{}", bound.namespace, bound.serviceaccount.name),
            bound,
        }
    }

    pub(super) fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}
