//! Carries out the plan of a HostClaim.

use engine::object::is_deleting;
use engine::{Error, Outcome, Result, finalizer, unless_gone};
use schemas::metal3::{BareMetalHost, HostClaim};

use super::observe::HostClaimController;
use super::observed::Observed;
use super::plan::Plan;
use super::secrets::Copy;
use crate::names::{CLAIM_FINALIZER, PAUSED_BY_CLAIM};

impl HostClaimController {
    /// Carries out the plan: first the copies of Secrets, then the host that refers to them, then the claim. A step that failed is
    /// repeated, since the claim keeps its finalizer, and its request for a reboot until the host has it.
    pub(super) async fn execute(&self, observed: &Observed, plan: Plan) -> Outcome<HostClaim> {
        let Plan { mut wanted, candidates, copies, host, discarded, action } = plan;
        let mut errors = Vec::new();
        if !candidates.is_empty() {
            let claim = |host: &mut BareMetalHost| super::host::claim(host, &observed.name);
            match self.claiming.first(&self.hosts, &candidates, claim).await {
                // The event of the write continues the reconcile.
                Ok(host) => {
                    let message = format!("HostClaim {} uses this host", observed.name);
                    self.recorder.normal(host.as_ref(), &(), "Associated", message);
                }
                Err(error) => errors.push(error),
            }
        }
        let mut written = self.write_copies(&copies).await;
        if let (Ok(()), Some(read), Some(host)) = (&written, &observed.host, &host) {
            written = self.hosts.patch_unchanged(read, host).await.map(drop);
        }
        match written {
            Ok(()) => {
                for copy in &discarded {
                    errors.extend(unless_gone(self.secrets.delete(copy.as_ref()).await).err());
                }
            }
            Err(error) => {
                // The host has not got the request for a reboot. Once it has, the claim must not ask again, whatever else fails.
                wanted.metadata.annotations.clone_from(&observed.object.metadata.annotations);
                errors.push(error);
            }
        }
        if !errors.is_empty() && is_deleting(&wanted) {
            finalizer::add(&mut wanted, CLAIM_FINALIZER);
        }
        Outcome { wanted: Some(wanted), errors, action }
    }

    /// Writes the copies. A copy that somebody has changed since it was read is not overwritten.
    async fn write_copies(&self, copies: &[Copy]) -> Result<()> {
        let mut errors = Vec::new();
        for copy in copies {
            let written = match &copy.present {
                Some(present) if **present == copy.wanted => continue,
                Some(present) => self.secrets.patch_unchanged(present, &copy.wanted).await,
                None => self.secrets.create(&copy.wanted).await,
            };
            errors.extend(written.err());
        }
        Error::aggregate(errors)
    }

    /// Pauses the host of a paused claim. The deletion of a host is not held up.
    pub(super) async fn pause_host(&self, claim: &HostClaim) -> Result<()> {
        match self.given(claim).filter(|host| !is_deleting(host.as_ref())) {
            Some(host) => crate::host::pause(&self.hosts, &host, PAUSED_BY_CLAIM).await,
            None => Ok(()),
        }
    }
}
