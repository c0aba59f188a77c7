//! The deletion of a Metal3Machine: its host is deprovisioned and released (`contract/metal3`, §2.3). Pure.

use engine::{conditions, finalizer};
use metal::names::PAUSED_BY_PROVIDER;

use super::plan::{Planner, host_message};
use super::status::HOST_PROVISIONED;
use crate::consumer::ConsumerKind;
use crate::host;
use crate::names::MACHINE_FINALIZER;
use schemas::deletion_grace::is_torn_down;

impl Planner<'_> {
    /// Plans the deletion. The finalizer goes with the last step, so each step is repeated until its effect is observed.
    pub(super) fn delete(&mut self) {
        let observed = self.observed;
        self.plan.delete_claim = observed.claim.is_some();
        let own = observed.host.as_deref().filter(|host| ConsumerKind::Machine.uses(&observed.name, host));
        let Some(host) = own else {
            finalizer::remove(&mut self.plan.wanted, MACHINE_FINALIZER);
            return;
        };
        let mut wanted = host.clone();
        // A paused host would not be deprovisioned.
        host::unpause(&mut wanted, PAUSED_BY_PROVIDER);
        host::empty(&mut wanted);
        if wanted == *host && host::is_empty(host) {
            host::release(&mut wanted, self.reuse());
            finalizer::remove(&mut self.plan.wanted, MACHINE_FINALIZER);
        } else {
            self.set(conditions::is_false(HOST_PROVISIONED, "Deprovisioning", host_message(host)));
        }
        self.plan.host = Some(wanted);
    }

    /// Returns the label that keeps the host for the next machine; `None` if the host is free for all.
    fn reuse(&self) -> Option<&str> {
        let is_cluster_deleting = self.observed.cluster.as_ref().is_none_or(|cluster| is_torn_down(cluster));
        self.observed.reuse.as_deref().filter(|_| self.observed.is_reusable && !is_cluster_deleting)
    }
}
