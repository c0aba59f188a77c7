//! Bootstrap tokens: Secrets in `kube-system` with which a new node requests its certificate.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use machinery::meta;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::Inner;
use kinds::user::User;

const NAMESPACE: &str = "kube-system";
const TYPE: &str = "bootstrap.kubernetes.io/token";
const USER_PREFIX: &str = "system:bootstrap:";
/// The group of all bootstrap tokens, and the prefix of their further groups.
const GROUP: &str = "system:bootstrappers";

/// Splits a bootstrap token into ID and secret; `None` if it does not have the form of one.
pub fn split(token: &str) -> Option<(&str, &str)> {
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let (id, secret) = token.split_once('.')?;
    (id.len() == 6 && secret.len() == 16 && plain(id) && plain(secret)).then_some((id, secret))
}

/// Returns whether a bootstrap token may be in this group:
/// `\Asystem:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]\z`
pub fn is_group(group: &str) -> bool {
    let Some(rest) = group.strip_prefix(GROUP).and_then(|rest| rest.strip_prefix(':')) else { return false };
    let word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    rest.len() <= 256
        && rest.bytes().all(|byte| word(byte) || matches!(byte, b':' | b'-'))
        && rest.bytes().last().is_some_and(word)
}

impl Inner {
    /// Returns the user of a bootstrap token if its Secret allows authentication.
    pub(super) fn bootstrap(&self, id: &str, secret: &str) -> Option<User> {
        let object = self.object("secrets", Some(NAMESPACE), &format!("bootstrap-token-{id}"))?;
        let data = |key: &str| text(&object, key);
        // Comparing hashes keeps the duration independent of how many characters match.
        let same = Sha256::digest(data("token-secret")) == Sha256::digest(secret);
        let good = object["type"] == TYPE
            && !meta::is_deleting(&object)
            && same
            && data("token-id") == id
            && data("usage-bootstrap-authentication") == "true"
            && !self.is_expired(&data("expiration"));
        if !good {
            return None;
        }
        let extra = data("auth-extra-groups");
        let mut groups: Vec<&str> = extra.split(',').filter(|group| !group.is_empty()).collect();
        if !groups.iter().all(|group| is_group(group)) {
            tracing::warn!(id, "a bootstrap token has a group that it may not have");
            return None;
        }
        groups.push(GROUP);
        groups.sort_unstable();
        groups.dedup();
        Some(User::new(format!("{USER_PREFIX}{id}"), groups))
    }

    /// Returns whether the token has expired; an invalid time counts as expired.
    fn is_expired(&self, expiration: &str) -> bool {
        !expiration.is_empty()
            && machinery::clock::parse_rfc3339(expiration).is_none_or(|time| self.clock.now() >= time)
    }
}

/// Returns a value of a Secret; empty if absent or invalid.
fn text(secret: &Value, key: &str) -> String {
    let encoded = secret["data"][key].as_str().unwrap_or_default();
    let bytes = STANDARD.decode(encoded).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}
