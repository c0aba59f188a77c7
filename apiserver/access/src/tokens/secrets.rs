//! Tokens that stand in Secrets: they do not expire, and are valid as long as their Secret contains them.
//!
//! The claims, the checks and their messages are those of the legacy tokens of `k8s.io/kubernetes/pkg/serviceaccount`.

use machinery::meta;
use machinery::status::Status;
use registry::SignTokens;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Inner, Refusal, Tokens, refused, valid_for};
use kinds::user::{SERVICE_ACCOUNT_PREFIX, User, service_account_groups};

/// The issuer of these tokens.
const ISSUER: &str = "kubernetes/serviceaccount";
/// The label of a Secret whose token somebody has marked as invalid, with the day.
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";

#[derive(Serialize, Deserialize)]
pub(super) struct Claims {
    iss: String,
    #[serde(rename = "kubernetes.io/serviceaccount/namespace")]
    namespace: String,
    #[serde(rename = "kubernetes.io/serviceaccount/secret.name")]
    secret: String,
    #[serde(rename = "kubernetes.io/serviceaccount/service-account.name")]
    account: String,
    #[serde(rename = "kubernetes.io/serviceaccount/service-account.uid")]
    uid: String,
    sub: String,
}

impl SignTokens for Tokens {
    fn sign(&self, namespace: &str, secret: &str, account: (&str, &str)) -> Result<String, Status> {
        let (account, uid) = account;
        let claims = Claims {
            iss: ISSUER.to_owned(),
            namespace: namespace.to_owned(),
            secret: secret.to_owned(),
            account: account.to_owned(),
            uid: uid.to_owned(),
            sub: format!("{SERVICE_ACCOUNT_PREFIX}{namespace}:{account}"),
        };
        let claims = serde_json::to_value(&claims).map_err(|error| Status::internal(error.to_string()))?;
        self.token(&claims)
    }
}

impl Claims {
    /// Reads the claims of a token in a Secret; `None` if they are those of another token.
    pub(super) fn read(payload: &[u8]) -> Option<Self> {
        serde_json::from_slice(payload).ok().filter(|claims: &Self| claims.iss == ISSUER)
    }
}

/// Returns the user of such a token, and those of `audiences` for which it is valid: the API server.
pub(super) fn verify(
    inner: &Inner,
    token: &str,
    claims: &Claims,
    audiences: &[String],
) -> Result<(User, Vec<String>), Refusal> {
    let good = valid_for(std::slice::from_ref(&inner.issuer), audiences)?;
    let (namespace, account) = (claims.namespace.as_str(), claims.account.as_str());
    if claims.sub != format!("{SERVICE_ACCOUNT_PREFIX}{namespace}:{account}") {
        return refused("sub claim is invalid");
    }
    let secret = inner.object("secrets", Some(namespace), &claims.secret);
    let Some(secret) = secret.filter(|secret| !meta::is_deleting(secret)) else {
        return refused("Token has been invalidated");
    };
    if !holds(&secret["data"]["token"], token) {
        return refused("Token does not match server's copy");
    }
    let Some(found) = inner.object("serviceaccounts", Some(namespace), account) else {
        return refused(format!("serviceaccounts \"{account}\" not found"));
    };
    if meta::is_deleting(&found) {
        return refused(format!("ServiceAccount {namespace}/{account} has been deleted"));
    }
    let uid = meta::uid(&found);
    if uid != claims.uid {
        return refused(format!("ServiceAccount UID ({uid}) does not match claim ({})", claims.uid));
    }
    inner.uses.note(namespace, &secret, &inner.clock);
    if is_marked_invalid(&secret) {
        return refused(format!(
            "the token in secret {namespace}/{} for service account {namespace}/{account} has been marked invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the '{INVALID_SINCE}' label from the secret to temporarily allow use of this token",
            claims.secret
        ));
    }
    let mut user = User::new(claims.sub.as_str(), service_account_groups(namespace));
    user.uid.clone_from(&claims.uid);
    Ok((user, good))
}

/// Returns whether the Secret has the label, which says something only if it has a value.
fn is_marked_invalid(secret: &Value) -> bool {
    let since = meta::labels(secret).and_then(|labels| labels.get(INVALID_SINCE)).and_then(Value::as_str);
    since.is_some_and(|since| !since.is_empty())
}

/// Returns whether the data of a Secret are this token.
fn holds(data: &Value, token: &str) -> bool {
    use base64::Engine;
    let encoded = data.as_str().unwrap_or_default();
    let decoded = base64::engine::general_purpose::STANDARD.decode(encoded);
    // Comparing hashes keeps the duration independent of how many characters match.
    decoded.is_ok_and(|bytes| Sha256::digest(bytes) == Sha256::digest(token))
}
