//! Carries out the plan of a Metal3Machine.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::names::CLUSTER_NAME;
use engine::object::{is_deleting, label};
use engine::{Error, NamespacedName, Outcome, Result, finalizer, unless_gone};
use k8s_openapi::api::core::v1::Node;
use parking_lot::Mutex;
use schemas::cluster::Cluster;
use schemas::infrastructure::{Metal3DataClaim, Metal3Machine};
use schemas::metal3::BareMetalHost;

use super::host;
use super::node::NodeState;
use super::observe::{BY_CONSUMER, Metal3MachineController};
use super::observed::Observed;
use super::plan::Plan;
use crate::names::MACHINE_FINALIZER;

/// A host that a reconcile is claiming. Its end, also by a cancellation, lets others choose the host again.
struct Reservation<'a> {
    claiming: &'a Mutex<BTreeSet<NamespacedName>>,
    host: NamespacedName,
}

impl<'a> Reservation<'a> {
    /// Returns the reservation of a host; `None` if another reconcile is claiming it.
    fn of(claiming: &'a Mutex<BTreeSet<NamespacedName>>, host: &BareMetalHost) -> Option<Self> {
        let host = NamespacedName::of(host);
        let is_new = claiming.lock().insert(host.clone());
        is_new.then_some(Self { claiming, host })
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.claiming.lock().remove(&self.host);
    }
}

impl Metal3MachineController {
    /// Carries out the plan. The host is written before the Metal3Machine, so that a machine which has lost its finalizer owns no host.
    pub(super) async fn execute(&self, observed: &Observed, plan: Plan) -> Outcome<Metal3Machine> {
        let mut errors = Vec::new();
        if !plan.candidates.is_empty() {
            errors.extend(self.claim_one(observed, &plan.candidates).await.err());
        }
        if let Some(claim) = &plan.create_claim {
            errors.extend(self.claims.create_if_absent(claim).await.err());
        }
        if let Some(claim) = observed.claim.as_ref().filter(|_| plan.delete_claim) {
            errors.extend(self.delete_claim(claim).await.err());
        }
        let mut wanted = plan.wanted;
        if let (Some(read), Some(host)) = (&observed.host, &plan.host)
            && let Err(error) = self.hosts.patch_unchanged(read, host).await
        {
            // The host has not been released, or not been emptied.
            if is_deleting(&wanted) {
                finalizer::add(&mut wanted, MACHINE_FINALIZER);
            }
            errors.push(error);
        }
        if let Some(host) = &observed.host {
            errors.extend(self.label_credentials(plan.host.as_ref().unwrap_or(host)).await.err());
        }
        if let Some(node) = &plan.node {
            errors.extend(self.write_node(observed, node).await.err());
        }
        Outcome { wanted: Some(wanted), errors, action: plan.action }
    }

    /// Claims the first host that nobody else claims. The write fails if the host has changed since it was read, so a host never has two
    /// consumers. The event of the write continues the reconcile.
    async fn claim_one(&self, observed: &Observed, candidates: &[Arc<BareMetalHost>]) -> Result<()> {
        let cluster =
            observed.machine.as_ref().map(|machine| machine.spec.cluster_name.clone()).unwrap_or_default();
        let mut last = None;
        for host in candidates {
            let Some(_reservation) = Reservation::of(&self.claiming, host) else { continue };
            let mut wanted = host.as_ref().clone();
            host::claim(&mut wanted, &observed.name, &cluster);
            let written = self.hosts.patch_unchanged(host, &wanted).await;
            match written {
                Ok(_) => {
                    let message = format!("Metal3Machine {} uses this host", observed.name);
                    self.recorder.normal(&wanted, &(), "Associated", message);
                    return Ok(());
                }
                Err(error) if error.is_conflict() || error.is_not_found() => last = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or_else(|| Error::failed("every host that fits is being claimed by another machine")))
    }

    /// Deletes the data claim, which keeps its index until the deletion has begun.
    async fn delete_claim(&self, claim: &Arc<Metal3DataClaim>) -> Result<()> {
        if !is_deleting(claim.as_ref()) {
            self.claims.delete(claim.as_ref()).await?;
        }
        let Some(claim) = self.claims.get(&NamespacedName::of(claim.as_ref())) else { return Ok(()) };
        let mut wanted = claim.as_ref().clone();
        finalizer::remove(&mut wanted, MACHINE_FINALIZER);
        unless_gone(self.claims.patch(&claim, &wanted, &[]).await)
    }

    /// Labels the credentials of the host's BMC with the Cluster that uses the host.
    async fn label_credentials(&self, host: &BareMetalHost) -> Result<()> {
        let Some(bmc) = &host.spec.bmc else { return Ok(()) };
        let namespace = host.metadata.namespace.clone().unwrap_or_default();
        let Some(secret) = self.secrets.get(&NamespacedName::new(namespace, bmc.credentials_name.as_str()))
        else {
            return Ok(());
        };
        if label(secret.as_ref(), CLUSTER_NAME) == label(host, CLUSTER_NAME) {
            return Ok(());
        }
        let mut wanted = secret.as_ref().clone();
        let labels = wanted.metadata.labels.get_or_insert_default();
        match label(host, CLUSTER_NAME) {
            Some(cluster) => drop(labels.insert(CLUSTER_NAME.to_owned(), cluster.to_owned())),
            None => drop(labels.remove(CLUSTER_NAME)),
        }
        self.secrets.patch(&secret, &wanted, &[]).await.map(drop)
    }

    async fn write_node(&self, observed: &Observed, wanted: &Node) -> Result<()> {
        let (NodeState::Found(read), Some(cluster)) = (&observed.node, &observed.cluster) else {
            return Ok(());
        };
        let workload = self.manager.clusters().get(&NamespacedName::of(cluster.as_ref()))?;
        workload.objects::<Node>().patch(read, wanted, &[]).await.map(drop)
    }

    /// Pauses the host of a machine whose Cluster is paused.
    pub(super) async fn pause_host(&self, machine: &Metal3Machine, cluster: Option<&Cluster>) -> Result<()> {
        if cluster.is_none_or(|cluster| cluster.spec.paused != Some(true)) {
            return Ok(());
        }
        let name = NamespacedName::of(machine);
        for host in self.hosts.by_index(BY_CONSUMER, &name.to_string()) {
            let mut wanted = host.as_ref().clone();
            host::pause(&mut wanted).map_err(|error| {
                Error::json(format!("the status of the host of Metal3Machine {name}"), error)
            })?;
            self.hosts.patch(&host, &wanted, &[]).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_ends_with_its_reconcile() {
        let (claiming, host) = (Mutex::default(), BareMetalHost::default());
        let first = Reservation::of(&claiming, &host);
        assert!(first.is_some() && Reservation::of(&claiming, &host).is_none());
        drop(first);
        assert!(Reservation::of(&claiming, &host).is_some());
    }
}
