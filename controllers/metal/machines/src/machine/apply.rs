//! Carries out the plan of a Metal3Machine.

use std::sync::Arc;

use engine::names::CLUSTER_NAME;
use engine::object::{annotation, is_deleting, label};
use engine::{Error, NamespacedName, Outcome, Result, finalizer};
use k8s_openapi::api::core::v1::Node;
use metal::names::{PAUSED, STATUS};
use schemas::cluster::Cluster;
use schemas::infrastructure::{Metal3DataClaim, Metal3Machine};
use schemas::metal3::BareMetalHost;

use super::host;
use super::node::NodeState;
use super::observe::{BY_CONSUMER, Metal3MachineController};
use super::observed::Observed;
use super::plan::Plan;
use crate::choice::is_consumer;
use crate::names::{MACHINE_FINALIZER, PAUSED_BY_PROVIDER};

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
            let name = NamespacedName::of(host.as_ref());
            if !self.claiming.lock().insert(name.clone()) {
                continue;
            }
            let mut wanted = host.as_ref().clone();
            host::claim(&mut wanted, &observed.name, &cluster);
            let written = self.hosts.patch_unchanged(host, &wanted).await;
            self.claiming.lock().remove(&name);
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
        match self.claims.patch(&claim, &wanted, &[]).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
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

    /// Pauses the host of a machine whose Cluster is paused, and stores the host's status in its annotation, so that another management
    /// cluster can take the host over. Another pause stays.
    pub(super) async fn pause_host(&self, machine: &Metal3Machine, cluster: Option<&Cluster>) -> Result<()> {
        if cluster.is_none_or(|cluster| cluster.spec.paused != Some(true)) {
            return Ok(());
        }
        let name = NamespacedName::of(machine);
        for host in self.hosts.by_index(BY_CONSUMER, &name.to_string()) {
            if annotation(host.as_ref(), PAUSED).is_some() || !is_consumer(&host, &name) {
                continue;
            }
            let mut wanted = host.as_ref().clone();
            let mut status = wanted.status.clone().unwrap_or_default();
            // The annotation would be too large with it, and HardwareData has the same content.
            status.hardware = None;
            let status = serde_json::to_string(&status)
                .map_err(|error| Error::json(format!("the status of BareMetalHost {name}"), error))?;
            let annotations = wanted.metadata.annotations.get_or_insert_default();
            annotations.insert(PAUSED.to_owned(), PAUSED_BY_PROVIDER.to_owned());
            annotations.insert(STATUS.to_owned(), status);
            self.hosts.patch(&host, &wanted, &[]).await?;
        }
        Ok(())
    }
}
