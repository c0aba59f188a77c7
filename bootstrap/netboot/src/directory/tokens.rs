//! One-time tokens: the script that starts a machine's agent names one, and the agent shows it when it enrols. What is kept is a checksum, with
//! the machine's lease.

use chrono::{DateTime, Utc};
use engine::{NamespacedName, Result};
use machinery::clock::{parse_rfc3339, rfc3339};
use machinery::random::Random;
use serde_json::json;

use super::Kube;
use crate::http::listener::fingerprint;
use crate::mac::MacAddress;

/// A token that nobody guesses.
pub(crate) fn token(random: &Random) -> String {
    let mut bytes = [0; 16];
    random.fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A token that a machine was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootToken {
    /// Its checksum.
    pub sha256: String,
    /// When the machine was told.
    pub time: DateTime<Utc>,
}

impl Kube {
    /// Makes a token for the machine, in place of the one before.
    ///
    /// # Errors
    /// The machine has no lease, the API refuses.
    pub(crate) async fn new_token(
        &self,
        mac: MacAddress,
        random: &Random,
        now: DateTime<Utc>,
    ) -> Result<String> {
        let token = token(random);
        let kept = json!({ "bootTokenSHA256": fingerprint(token.as_bytes()), "bootTokenTime": rfc3339(now) });
        self.leases.merge(&NamespacedName::new("", mac.dashed()), None, json!({ "spec": kept })).await?;
        Ok(token)
    }

    /// The newest token of the machine.
    pub(crate) fn token(&self, mac: MacAddress) -> Option<BootToken> {
        let lease = self.leases.get(&NamespacedName::new("", mac.dashed()))?;
        let sha256 = lease.spec.boot_token_sha256.clone()?;
        Some(BootToken { sha256, time: parse_rfc3339(lease.spec.boot_token_time.as_deref()?)? })
    }

    /// Whether an agent has enrolled with the token.
    pub(crate) fn is_spent(&self, token: &BootToken) -> bool {
        !self.agents.by_index(BY_TOKEN, &token.sha256).is_empty()
    }
}

/// Agents by the token that they enrolled with.
pub(super) const BY_TOKEN: &str = "netboot-token";
