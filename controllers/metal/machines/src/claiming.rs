//! The write that claims a host for its consumer.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::{Error, NamespacedName, Objects, Result};
use parking_lot::Mutex;
use schemas::metal3::BareMetalHost;

/// The hosts that the reconciles of a controller are claiming. Others choose another host meanwhile, instead of failing with a conflict.
#[derive(Debug, Default)]
pub struct Claiming(Mutex<BTreeSet<NamespacedName>>);

/// A host that a reconcile is claiming. Its end, also by a cancellation, lets others choose the host again.
pub struct Reservation<'a> {
    claiming: &'a Claiming,
    host: NamespacedName,
}

impl Claiming {
    /// Returns the reservation of a host; `None` if another reconcile is claiming it.
    pub fn reserve(&self, host: &BareMetalHost) -> Option<Reservation<'_>> {
        let host = NamespacedName::of(host);
        let is_new = self.0.lock().insert(host.clone());
        is_new.then_some(Reservation { claiming: self, host })
    }

    /// Claims the first host that nobody else claims, with the change `claim`. The write fails if the host has changed since it was
    /// read, so a host never has two consumers. Returns the host as written.
    ///
    /// # Errors
    /// All candidates were claimed by others, or the API server refused the write.
    pub async fn first(
        &self,
        hosts: &Objects<BareMetalHost>,
        candidates: &[Arc<BareMetalHost>],
        claim: impl Fn(&mut BareMetalHost),
    ) -> Result<Arc<BareMetalHost>> {
        let mut last = None;
        for host in candidates {
            let Some(_reservation) = self.reserve(host) else { continue };
            let mut wanted = host.as_ref().clone();
            claim(&mut wanted);
            match hosts.patch_unchanged(host, &wanted).await {
                Ok(written) => return Ok(written),
                Err(error) if error.is_conflict() || error.is_not_found() => last = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(last
            .unwrap_or_else(|| Error::failed("every host that fits is being claimed by another consumer")))
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.claiming.0.lock().remove(&self.host);
    }
}
