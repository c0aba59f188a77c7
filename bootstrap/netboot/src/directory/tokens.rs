//! One-time tokens: the script that starts a machine's agent names one, and the agent shows it when it enrols. What is kept is a checksum, with
//! the machine's lease.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::{NamespacedName, Result};
use machinery::clock::{parse_rfc3339, rfc3339};
use machinery::random::Random;
use schemas::metal3::PreprovisioningImage;
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

    /// The image of the host `key`, as virtual media of which `uid` is told.
    pub(crate) fn media(&self, key: &NamespacedName, uid: &str) -> Option<Arc<PreprovisioningImage>> {
        self.images.get(key).filter(|image| image.metadata.uid.as_deref() == Some(uid))
    }

    /// The token on the virtual media of a host: another one once its agent has enrolled. `None` where nothing can be added to the image.
    pub(crate) fn media_token(&self, image: &PreprovisioningImage) -> Option<String> {
        let status = image.status.as_ref().filter(|status| status.format.as_deref() == Some("iso"))?;
        status.extra_kernel_params.as_ref()?;
        let agents = self.agents.by_index(metal::host::BY_HOST, &NamespacedName::of(image).to_string());
        let start = agents.first().and_then(|agent| agent.status.as_ref()?.boot_id.clone());
        let secret = format!("{} {}", image.metadata.uid.as_deref()?, start.unwrap_or_default());
        Some(fingerprint(secret.as_bytes()))
    }

    /// The tokens of virtual media that a machine with these addresses may have been started from.
    pub(crate) fn media_tokens(&self, macs: &BTreeSet<MacAddress>, now: DateTime<Utc>) -> Vec<BootToken> {
        let images = self.images.all();
        let is_meant = |image: &&Arc<PreprovisioningImage>| {
            let host = self.hosts.get(&NamespacedName::of(image.as_ref()));
            let named = host.and_then(|host| host.spec.boot_mac_address.clone());
            // Whoever reads the image of a host without an address is its machine.
            named.is_none_or(|mac| mac.parse().is_ok_and(|mac| macs.contains(&mac)))
        };
        let tokens = images.iter().filter(is_meant).filter_map(|image| self.media_token(image));
        tokens.map(|token| BootToken { sha256: fingerprint(token.as_bytes()), time: now }).collect()
    }

    /// Whether an agent has enrolled with the token.
    pub(crate) fn is_spent(&self, token: &BootToken) -> bool {
        !self.agents.by_index(BY_TOKEN, &token.sha256).is_empty()
    }
}

/// Agents by the token that they enrolled with.
pub(super) const BY_TOKEN: &str = "netboot-token";
