//! The controller of KubeadmControlPlanes, with what it reads and performs its steps with.

use std::sync::Arc;

use engine::in_place::SharedUpdater;
use engine::{External, Manager, Objects, owners};
use schemas::cluster::{Cluster, MachinePool};
use schemas::controlplane::KubeadmControlPlane;

use super::etcd_access::EtcdAccess;
use super::events::Events;
use super::expiry::CertificateExpiry;
use super::in_place::Updates;
use super::kubeconfig::Kubeconfigs;
use super::machine_parts::MachineParts;
use crate::cluster_secrets::ClusterSecrets;

/// The component that events name.
const COMPONENT: &str = "kubeadmcontrolplane-controller";

/// The controller of KubeadmControlPlanes.
pub(super) struct ControlPlaneController {
    pub manager: Manager,
    pub control_planes: Objects<KubeadmControlPlane>,
    pub clusters: Objects<Cluster>,
    pub pools: Objects<MachinePool>,
    pub parts: MachineParts,
    pub secrets: Arc<ClusterSecrets>,
    pub kubeconfigs: Kubeconfigs,
    pub etcd: EtcdAccess,
    pub expiry: CertificateExpiry,
    pub updates: Updates,
    pub events: Events,
}

impl ControlPlaneController {
    /// Creates the controller, which reads provider objects by `external`.
    pub fn new(manager: &Manager, external: External, updater: &SharedUpdater) -> Self {
        let recorder = manager.recorder(COMPONENT);
        let secrets = Arc::new(ClusterSecrets::new(manager));
        Self {
            manager: manager.clone(),
            control_planes: manager.objects(),
            clusters: manager.objects(),
            pools: manager.objects(),
            parts: MachineParts::new(manager, external, &recorder),
            kubeconfigs: Kubeconfigs::new(manager, &secrets),
            etcd: EtcdAccess::new(manager, &secrets),
            expiry: CertificateExpiry::new(manager, &secrets),
            updates: Updates::new(manager, updater),
            events: Events::new(recorder),
            secrets,
        }
    }

    /// Returns the Cluster that owns a control plane.
    pub fn cluster_of(&self, control_plane: &KubeadmControlPlane) -> Option<Arc<Cluster>> {
        self.clusters.get(&owners::named::<Cluster>(control_plane)?)
    }
}
