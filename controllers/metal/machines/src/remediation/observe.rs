//! Reads the objects on which the plan of a Metal3Remediation depends.

use std::sync::Arc;

use engine::{Manager, NamespacedName, Objects, owners};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::ListParams;
use schemas::cluster::{Cluster, Machine};
use schemas::infrastructure::{Metal3Machine, Metal3Remediation};
use schemas::metal3::BareMetalHost;

use super::observed::Observed;
use super::plan::is_out_of_service;
use crate::machine::BY_CONSUMER;

/// The controller of Metal3Remediations.
pub(super) struct RemediationController {
    pub remediations: Objects<Metal3Remediation>,
    pub machines: Objects<Machine>,
    pub metal3_machines: Objects<Metal3Machine>,
    pub clusters: Objects<Cluster>,
    pub hosts: Objects<BareMetalHost>,
    pub manager: Manager,
}

impl RemediationController {
    /// Reads the state on which the plan depends.
    pub(super) async fn read(&self, remediation: Arc<Metal3Remediation>) -> Observed {
        let namespace = remediation.metadata.namespace.clone().unwrap_or_default();
        let name = |name: &str| NamespacedName::new(namespace.as_str(), name);
        let owner = owners::find(remediation.as_ref(), Machine::GROUP, Machine::KIND);
        let machine = owner.and_then(|owner| self.machines.get(&name(&owner.name)));
        let cluster =
            machine.as_ref().and_then(|machine| self.clusters.get(&name(&machine.spec.cluster_name)));
        let host = machine.as_ref().and_then(|machine| {
            let metal3_machine = self.metal3_machines.get(&name(&machine.spec.infrastructure_ref.name))?;
            let key = NamespacedName::of(metal3_machine.as_ref()).to_string();
            self.hosts.by_index(BY_CONSUMER, &key).into_iter().next()
        });
        let mut observed = Observed { remediation, machine, cluster, host, node: None, is_draining: false };
        self.read_node(&mut observed).await;
        observed
    }

    async fn read_node(&self, observed: &mut Observed) {
        let (Some(machine), Some(cluster)) = (&observed.machine, &observed.cluster) else { return };
        let Ok(workload) = self.manager.clusters().get(&NamespacedName::of(cluster.as_ref())) else { return };
        let reference = machine.status.as_ref().and_then(|status| status.node_ref.as_ref());
        let Some(name) = reference.map(|reference| reference.name.clone()) else { return };
        observed.node = workload.objects::<Node>().get(&NamespacedName::new("", name.as_str()));
        if observed.node.as_ref().is_some_and(|node| is_out_of_service(node)) {
            // Only the Pods of this Node are read, and only while it is out of service.
            let parameters = ListParams::default().fields(&format!("spec.nodeName={name}"));
            let pods = Api::<Pod>::all(workload.client().clone()).list(&parameters).await;
            let is_deleting = |pod: &Pod| pod.metadata.deletion_timestamp.is_some();
            observed.is_draining = pods.is_ok_and(|pods| pods.items.iter().any(is_deleting));
        }
    }
}
