//! Carries out the plan of a Metal3Machine.

use std::sync::Arc;

use engine::names::CLUSTER_NAME;
use engine::object::{is_deleting, label};
use engine::{NamespacedName, Outcome, Result, finalizer, unless_gone};
use k8s_openapi::api::core::v1::Node;
use metal::names::PAUSED_BY_PROVIDER;
use schemas::cluster::Cluster;
use schemas::infrastructure::{Metal3DataClaim, Metal3Machine};
use schemas::metal3::BareMetalHost;

use super::node::NodeState;
use super::observe::{BY_CONSUMER, Metal3MachineController};
use super::observed::Observed;
use super::plan::Plan;
use crate::host;
use crate::names::MACHINE_FINALIZER;

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

    /// Claims one of the hosts. The event of the write continues the reconcile.
    async fn claim_one(&self, observed: &Observed, candidates: &[Arc<BareMetalHost>]) -> Result<()> {
        let cluster =
            observed.machine.as_ref().map(|machine| machine.spec.cluster_name.clone()).unwrap_or_default();
        let claim = |host: &mut BareMetalHost| super::host::claim(host, &observed.name, &cluster);
        let host = self.claiming.first(&self.hosts, candidates, claim).await?;
        let message = format!("Metal3Machine {} uses this host", observed.name);
        self.recorder.normal(host.as_ref(), &(), "Associated", message);
        Ok(())
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
            host::pause(&self.hosts, &host, PAUSED_BY_PROVIDER).await?;
        }
        Ok(())
    }
}
