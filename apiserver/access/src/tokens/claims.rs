//! What a service account's token says.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::user::SERVICE_ACCOUNT_PREFIX;

/// A name and the UID that it had when the token was issued.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// The name.
    pub name: String,
    /// The UID; empty for a node that did not exist.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

/// The objects that a token is bound to: it dies with them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// The account's namespace, and that of Pod and Secret.
    pub namespace: String,
    /// The node: the token's own, or that of the Pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Reference>,
    /// The Pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<Reference>,
    /// The Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<Reference>,
    /// The account.
    pub serviceaccount: Reference,
    /// When whoever still uses the token should have taken a new one, in seconds of the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warnafter: Option<i64>,
}

/// The claims of a token; times are seconds of the epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// For whom the token is meant.
    pub aud: Vec<String>,
    /// Until when it is valid.
    pub exp: i64,
    /// When it was issued.
    #[serde(default)]
    pub iat: i64,
    /// Who issued it.
    pub iss: String,
    /// Its own id.
    #[serde(default)]
    pub jti: String,
    /// What it is bound to.
    #[serde(rename = "kubernetes.io")]
    pub bound: Bound,
    /// From when it is valid.
    #[serde(default)]
    pub nbf: i64,
    /// The account's user.
    pub sub: String,
}

impl Claims {
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
