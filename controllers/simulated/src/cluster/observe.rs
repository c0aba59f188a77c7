//! Reads the objects on which the plan of a DevCluster depends.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::{Manager, NamespacedName, Objects};
use schemas::cluster::Cluster;
use schemas::infrastructure::DevCluster;
use schemas::meta::ApiEndpoint;

use crate::backend::Backend;
use crate::owner::owner_name;

/// The controller of DevClusters.
pub(super) struct DevClusterController {
    pub objects: Objects<DevCluster>,
    pub clusters: Objects<Cluster>,
    pub backend: Backend,
    pub manager: Manager,
}

/// The state on which the plan of a DevCluster depends.
pub(super) struct Observed {
    /// The DevCluster.
    pub dev: Arc<DevCluster>,
    /// Its Cluster, which may be gone.
    pub cluster: Option<Arc<Cluster>>,
    /// The name of its Cluster.
    pub name: NamespacedName,
    /// The ports of the endpoints of all DevClusters, if this one has none yet. After a restart their clusters may not listen yet, and a
    /// new cluster must not take their ports.
    pub reserved: BTreeSet<u16>,
}

/// Returns the port of an endpoint, or `None` if it has none.
pub(super) fn port(endpoint: &ApiEndpoint) -> Option<u16> {
    endpoint.port.and_then(|port| u16::try_from(port).ok()).filter(|port| *port != 0)
}

impl DevClusterController {
    /// Returns the name of the Cluster that owns a DevCluster.
    pub(super) fn cluster_name(&self, dev: &DevCluster) -> Option<NamespacedName> {
        let namespace = dev.metadata.namespace.clone().unwrap_or_default();
        Some(NamespacedName::new(namespace, owner_name(dev, "Cluster")?))
    }

    /// Reads the state for the plan of `dev`; `None` if no Cluster owns it.
    pub(super) fn read(&self, dev: Arc<DevCluster>, cluster: Option<Arc<Cluster>>) -> Option<Observed> {
        let endpoint =
            |cluster: &Arc<DevCluster>| cluster.spec.control_plane_endpoint.as_ref().and_then(port);
        let reserved = match endpoint(&dev) {
            Some(_) => BTreeSet::new(),
            None => self.objects.all().iter().filter_map(endpoint).collect(),
        };
        Some(Observed { name: self.cluster_name(&dev)?, dev, cluster, reserved })
    }
}
