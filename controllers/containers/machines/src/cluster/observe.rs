//! Reads the state on which the plan of a DevCluster depends.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use engine::object::{is_deleting, label, uid};
use engine::{Manager, NamespacedName, Objects, Upstream, names as engine_names, owners};
use schemas::cluster::{Cluster, Machine};
use schemas::infrastructure::{DevCluster, DevMachine};

use super::observed::{Member, Observed};
use crate::container_name;
use crate::names::{BALANCER_ROLE, LABEL_CLUSTER, LABEL_NAME, LABEL_NAMESPACE, LABEL_ROLE};
use crate::nodes::Nodes;

/// The controller of DevClusters.
pub(super) struct DevClusterController {
    pub objects: Objects<DevCluster>,
    pub clusters: Objects<Cluster>,
    pub machines: Objects<Machine>,
    pub dev_machines: Objects<DevMachine>,
    pub upstream: Upstream,
    pub nodes: Nodes,
    pub manager: Manager,
}

impl DevClusterController {
    /// Reads the state for the plan of `dev`; `None` if no Cluster owns it.
    pub(super) async fn read(
        &self,
        dev: Arc<DevCluster>,
        cluster: Option<Arc<Cluster>>,
    ) -> Result<Option<Observed>> {
        let Some(owner) = owners::named::<Cluster>(dev.as_ref()) else { return Ok(None) };
        let mut members: Vec<Member> =
            self.dev_machines.by_cluster(&owner).iter().filter_map(|dev| self.member(dev)).collect();
        members.sort();
        let labels = [
            (LABEL_CLUSTER, owner.name.as_str()),
            (LABEL_ROLE, BALANCER_ROLE),
            (LABEL_NAMESPACE, owner.namespace.as_str()),
            (LABEL_NAME, dev.metadata.name.as_deref().unwrap_or_default()),
        ];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into_iter().collect();
        let balancer = self.balancer_name(&owner, &labels).await.map_err(|error| format!("{error:#}"));
        Ok(Some(Observed { balancer, labels, members, cluster, dev }))
    }

    /// Returns the name of the load balancer of a Cluster: that which it has, or another one if a Cluster of another namespace has the first.
    async fn balancer_name(
        &self,
        cluster: &NamespacedName,
        labels: &BTreeMap<String, String>,
    ) -> Result<String> {
        let first = container_name::of_balancer(&cluster.name);
        let second = container_name::other(&first, &cluster.namespace);
        let Ok(parts) = self.nodes.parts().await else { return Ok(first) };
        let is_own = async |name: &str| -> Result<Option<bool>> {
            Ok(parts.runtime.inspect(name).await?.map(|found| found.labels == *labels))
        };
        // Each look asks what runs containers, so nobody looks for the second one in vain.
        let of_first = is_own(&first).await?;
        let of_second = if of_first == Some(true) { None } else { is_own(&second).await? };
        match container_name::is_second(of_first, of_second) {
            true => Ok(second),
            false => Ok(first),
        }
    }

    fn member(&self, dev: &Arc<DevMachine>) -> Option<Member> {
        let machine = self.machines.get(&owners::named::<Machine>(dev.as_ref())?)?;
        label(machine.as_ref(), engine_names::CONTROL_PLANE)?;
        let addresses = &dev.status.as_ref()?.addresses;
        let of = |type_: &str| addresses.iter().find(|address| address.type_ == type_);
        Some(Member {
            name: of("Hostname")?.address.clone(),
            address: of("InternalIP")?.address.clone(),
            goes: is_deleting(machine.as_ref()) || is_deleting(dev.as_ref()),
        })
    }
}

/// Returns what a reconcile of a DevCluster depends on in a DevMachine.
pub(super) fn facts(dev: &Arc<DevMachine>) -> (Vec<schemas::cluster::MachineAddress>, bool, String) {
    let addresses = dev.status.as_ref().map(|status| status.addresses.clone()).unwrap_or_default();
    (addresses, is_deleting(dev.as_ref()), uid(dev.as_ref()).to_owned())
}
