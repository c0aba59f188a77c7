//! The kubeadm bootstrap and control plane providers: KubeadmConfig and KubeadmControlPlane.

mod blocking;
pub mod certificates;
pub mod cloudinit;
pub mod config;
pub mod controlplane;
pub mod documents;
mod error;
pub mod etcd;
pub mod names;
pub mod version;

use engine::Manager;
pub use error::{Error, Result};

/// Starts both controllers; they stop with the manager.
pub fn start(manager: &Manager) {
    config::start(manager);
    controlplane::start(manager);
}
