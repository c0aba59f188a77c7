//! Bootstrap tokens in the workload cluster.

use chrono::{DateTime, Duration, Utc};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use machinery::clock::{parse_rfc3339, rfc3339};
use machinery::random::Random;

/// The time for which a token is valid.
pub const LIFETIME: Duration = Duration::minutes(15);
/// Interval between two checks of a token that may still be needed.
pub const CHECK: std::time::Duration = std::time::Duration::from_secs(15 * 60 / 3);

const ALPHABET: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
const TYPE: &str = "bootstrap.kubernetes.io/token";
/// The namespace of the token Secrets.
pub const NAMESPACE: &str = "kube-system";

/// Generates a token `<6 characters>.<16 characters>`. The token is a secret.
pub fn generate(random: &Random) -> String {
    format!("{}.{}", random.characters(ALPHABET, 6), random.characters(ALPHABET, 16))
}

/// Returns the name of a token's Secret; `None` if the text is not a token.
pub fn secret_name(token: &str) -> Option<String> {
    let (id, secret) = token.split_once('.')?;
    let valid =
        |text: &str, length: usize| text.len() == length && text.bytes().all(|byte| ALPHABET.contains(&byte));
    (valid(id, 6) && valid(secret, 16)).then(|| format!("bootstrap-token-{id}"))
}

/// Builds the Secret of a token that expires `LIFETIME` after `now`; `None` if the text is not a token.
pub fn secret(token: &str, now: DateTime<Utc>) -> Option<Secret> {
    let name = secret_name(token)?;
    let (id, secret) = token.split_once('.')?;
    let expiration = rfc3339(now + LIFETIME);
    let entries = [
        ("token-id", id),
        ("token-secret", secret),
        ("expiration", expiration.as_str()),
        ("usage-bootstrap-signing", "true"),
        ("usage-bootstrap-authentication", "true"),
        ("auth-extra-groups", "system:bootstrappers:kubeadm:default-node-token"),
        ("description", "bootstrap token of a Cluster API Machine"),
    ];
    let data = entries.map(|(key, value)| (key.to_owned(), ByteString(value.as_bytes().to_vec())));
    Some(Secret {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: Some(NAMESPACE.to_owned()),
            ..ObjectMeta::default()
        },
        data: Some(data.into()),
        type_: Some(TYPE.to_owned()),
        ..Secret::default()
    })
}

/// Returns when a token expires; `None` if its Secret does not say so.
pub fn expiry(secret: &Secret) -> Option<DateTime<Utc>> {
    crate::certificates::text(secret, "expiration").and_then(|text| parse_rfc3339(&text))
}

/// Returns whether a token that expires `at` this time must be extended: at most five sixths of its lifetime
/// remain.
pub fn is_refresh_due(at: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    at - now <= LIFETIME * 5 / 6
}
