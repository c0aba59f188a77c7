//! The kubeadm bootstrap and control plane providers: KubeadmConfig and KubeadmControlPlane.

mod blocking;
pub mod certificates;
pub mod checks;
pub mod cloudinit;
mod cluster_secrets;
pub mod config;
pub mod controlplane;
pub mod documents;
mod error;
pub mod etcd;
pub mod host;
pub mod ignition;
pub mod names;
pub mod owned;

use std::sync::Arc;

use engine::in_place::{NoUpdater, SharedUpdater};
use engine::{InventoryEntry, Manager, Provider};
pub use error::{Error, Result};

/// The table of the bootstrap provider's controller.
pub const BOOTSTRAP: &[Provider] = &[Provider {
    inventory: Some(InventoryEntry {
        label: "bootstrap-kubeadm",
        name: "kubeadm",
        kind: "BootstrapProvider",
        namespace: "capi-kubeadm-bootstrap-system",
    }),
    controllers: &[config::CONTROLLER],
}];

/// The table of the control plane provider's controller.
pub const CONTROL_PLANE: &[Provider<SharedUpdater>] = &[Provider {
    inventory: Some(InventoryEntry {
        label: "control-plane-kubeadm",
        name: "kubeadm",
        kind: "ControlPlaneProvider",
        namespace: "capi-kubeadm-control-plane-system",
    }),
    controllers: &[controlplane::CONTROLLER],
}];

/// Starts both controllers; they stop with the manager. Nothing updates machines in place.
pub fn start(manager: &Manager) {
    let updater: SharedUpdater = Arc::new(NoUpdater);
    BOOTSTRAP.iter().for_each(|provider| provider.start(manager, &()));
    CONTROL_PLANE.iter().for_each(|provider| provider.start(manager, &updater));
}
