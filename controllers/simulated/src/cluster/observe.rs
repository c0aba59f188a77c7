//! Reads the objects on which the plan of a DevCluster depends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use engine::{Manager, NamespacedName, Objects, Request, Upstream, owners};
use parking_lot::Mutex;
use schemas::HasConditions;
use schemas::cluster::Cluster;
use schemas::infrastructure::{DevCluster, DevMachine};
use schemas::meta::ApiEndpoint;
use tokio::time::Instant;

use super::observed::{Observed, Unserved};
use crate::backend::Backend;
use crate::machine::observe::has_node;
use crate::workload::part::Part;

/// The controller of DevClusters.
pub(super) struct DevClusterController {
    pub objects: Objects<DevCluster>,
    pub clusters: Objects<Cluster>,
    pub machines: Objects<DevMachine>,
    /// The DevClusters whose endpoint has no server although a machine has one, each with the time at which that was first seen.
    pub unserved: Mutex<BTreeMap<Request, Instant>>,
    pub upstream: Upstream,
    pub backend: Backend,
    pub manager: Manager,
}

/// Returns the port of an endpoint, or `None` if it has none.
pub(super) fn port(endpoint: &ApiEndpoint) -> Option<u16> {
    endpoint.port.and_then(|port| u16::try_from(port).ok()).filter(|port| *port != 0)
}

impl DevClusterController {
    /// Returns what the endpoint of a DevCluster lacks.
    async fn unserved(&self, dev: &DevCluster, cluster: &NamespacedName) -> Option<Unserved> {
        let request = NamespacedName::of(dev);
        let all = self.machines.by_cluster(cluster);
        let members: Vec<&Arc<DevMachine>> = all.iter().filter(|machine| has_node(machine)).collect();
        let workload = self.backend.get(cluster).await;
        let has_server = members.iter().any(|machine| machine.condition_is_true(Part::ApiServer.condition()));
        if !has_server || workload.as_ref().is_some_and(|workload| workload.is_open()) {
            self.unserved.lock().remove(&request);
            return None;
        }
        let now = self.manager.clock().monotonic();
        let since = now - *self.unserved.lock().entry(request).or_insert(now);
        let runs =
            |name: &str, part: Part| workload.as_ref().is_some_and(|workload| workload.runs(name, part));
        let lacks = |machine: &&Arc<DevMachine>| {
            let name = machine.metadata.name.as_deref().unwrap_or_default();
            Part::ALL.iter().any(|part| machine.condition_is_true(part.condition()) && !runs(name, *part))
        };
        let machines = members.into_iter().filter(lacks).filter_map(|machine| machine.metadata.name.clone());
        Some(Unserved { since, machines: machines.collect() })
    }

    /// Reads the state for the plan of `dev`; `None` if no Cluster owns it.
    pub(super) async fn read(&self, dev: Arc<DevCluster>, cluster: Option<Arc<Cluster>>) -> Option<Observed> {
        let endpoint =
            |cluster: &Arc<DevCluster>| cluster.spec.control_plane_endpoint.as_ref().and_then(port);
        let reserved: BTreeSet<u16> = match endpoint(&dev) {
            Some(_) => BTreeSet::new(),
            None => self.objects.all().iter().filter_map(endpoint).collect(),
        };
        let name = owners::named::<Cluster>(dev.as_ref())?;
        let unserved = self.unserved(&dev, &name).await;
        // A Cluster that is made again from a manifest still names the endpoint that it had, which cannot be changed.
        let asked = cluster.as_ref().and_then(|cluster| cluster.spec.control_plane_endpoint.as_ref());
        let asked = asked.filter(|endpoint| endpoint.host.as_deref() == Some(self.backend.host()));
        // Nobody gets the port of another cluster, which may not listen yet after a restart.
        let asked = asked.and_then(port).filter(|port| !reserved.contains(port));
        Some(Observed { name, dev, cluster, reserved, asked, unserved })
    }
}
