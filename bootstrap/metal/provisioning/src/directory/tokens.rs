//! The one-time tokens of machines: the boot script of a machine's agent contains one, and the agent shows it when it enrols. Only its
//! checksum is stored, with the machine's lease.

use std::sync::Arc;

use agent_protocol::dhcp::MacAddress;
use chrono::{DateTime, Utc};
use engine::NamespacedName;
use machinery::clock::{parse_rfc3339, rfc3339};
use machinery::random::Random;
use schemas::metal3::PreprovisioningImage;
use serde_json::json;

use super::kube::Kube;
use super::token::{BY_TOKEN, BootToken, token};
use crate::fingerprint::fingerprint;
use crate::limits;

impl Kube {
    /// Returns a token for the machine: the previous one while it is fresh and unused, otherwise a new one that replaces it. `None` if
    /// the token cannot be stored.
    pub(crate) async fn new_token(
        &self,
        mac: MacAddress,
        random: &Random,
        now: DateTime<Utc>,
    ) -> Option<String> {
        let fresh = |(_, time): &(String, DateTime<Utc>)| now - *time < limits::duration(limits::SAME_TOKEN);
        let told = self.told.lock().get(mac).filter(fresh);
        if let Some((token, time)) = told
            && !self.is_spent(&BootToken { sha256: fingerprint(token.as_bytes()), time })
        {
            return Some(token);
        }
        let token = token(random);
        let sha256 = fingerprint(token.as_bytes());
        let kept = json!({ "bootTokenSHA256": sha256, "bootTokenTime": rfc3339(now) });
        let key = NamespacedName::new("", mac.dashed());
        match self.leases.merge(&key, None, json!({ "spec": kept })).await {
            Ok(_) => {}
            // The machine has its address from another server, so the token lives only as long as this process.
            Err(error) if error.is_not_found() => {}
            Err(error) => {
                tracing::warn!(machine = %mac, %error, "the machine starts without a token");
                return None;
            }
        }
        if !self.told.lock().note(mac, &token, now) {
            self.limits.reached("netboot_tokens");
        }
        Some(token)
    }

    /// Forgets the token of the machine. A token that was used stays refused, because it is not the latest token of the machine.
    pub(crate) async fn withdraw_token(&self, mac: MacAddress) {
        self.told.lock().forget(mac);
        let key = NamespacedName::new("", mac.dashed());
        let none = json!({ "bootTokenSHA256": null, "bootTokenTime": null });
        match self.leases.merge(&key, None, json!({ "spec": none })).await {
            Ok(_) => {}
            Err(error) if error.is_not_found() => {}
            Err(error) => tracing::warn!(machine = %mac, %error, "the machine's token cannot be withdrawn"),
        }
    }

    /// Returns the latest token of the machine.
    pub(crate) fn token(&self, mac: MacAddress) -> Option<BootToken> {
        let told = self.told.lock().get(mac);
        let told = told.map(|(token, time)| BootToken { sha256: fingerprint(token.as_bytes()), time });
        told.or_else(|| {
            let lease = self.leases.get(&NamespacedName::new("", mac.dashed()))?;
            let sha256 = lease.spec.boot_token_sha256.clone()?;
            Some(BootToken { sha256, time: parse_rfc3339(lease.spec.boot_token_time.as_deref()?)? })
        })
    }

    /// Returns the PreprovisioningImage of the host `key`, if it has the UID `uid`, which the URL of the virtual media contains.
    pub(crate) fn media(&self, key: &NamespacedName, uid: &str) -> Option<Arc<PreprovisioningImage>> {
        self.images.get(key).filter(|image| image.metadata.uid.as_deref() == Some(uid))
    }

    /// Returns the token on the virtual media of a host, which changes when its agent enrols. `None` if nothing can be added to the
    /// image.
    pub(crate) fn media_token(&self, image: &PreprovisioningImage) -> Option<String> {
        let status = image.status.as_ref().filter(|status| status.format.as_deref() == Some("iso"))?;
        status.extra_kernel_params.as_ref()?;
        let agents = self.agents.by_index(metal::host::BY_HOST, &NamespacedName::of(image).to_string());
        let start = agents.first().and_then(|agent| agent.status.as_ref()?.boot_id.clone());
        let secret = format!("{} {}", image.metadata.uid.as_deref()?, start.unwrap_or_default());
        Some(fingerprint(secret.as_bytes()))
    }

    /// Returns the host whose virtual media contain a token with this checksum.
    pub(crate) fn host_of_media(&self, sha256: &str) -> Option<NamespacedName> {
        let images = self.images.all();
        let has = |image: &&Arc<PreprovisioningImage>| {
            self.media_token(image).is_some_and(|token| fingerprint(token.as_bytes()) == sha256)
        };
        images.iter().find(has).map(|image| NamespacedName::of(image.as_ref()))
    }

    /// Returns the token on the virtual media of the host.
    pub(crate) fn token_of_media(&self, host: &NamespacedName, now: DateTime<Utc>) -> Option<BootToken> {
        let token = self.media_token(self.images.get(host)?.as_ref())?;
        Some(BootToken { sha256: fingerprint(token.as_bytes()), time: now })
    }

    /// Returns whether an agent has enrolled with the token.
    pub(crate) fn is_spent(&self, token: &BootToken) -> bool {
        !self.agents.by_index(BY_TOKEN, &token.sha256).is_empty()
    }
}
