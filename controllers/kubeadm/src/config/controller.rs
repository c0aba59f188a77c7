//! The controller of KubeadmConfigs, with what it reads and performs its plans with.

use engine::{Manager, Objects};
use schemas::bootstrap::KubeadmConfig;

use super::lock::InitLocks;
use super::owner::Owners;
use super::tokens::Tokens;
use crate::cluster_secrets::ClusterSecrets;

/// The controller of KubeadmConfigs.
pub(super) struct ConfigController {
    pub manager: Manager,
    pub configs: Objects<KubeadmConfig>,
    pub owners: Owners,
    pub secrets: ClusterSecrets,
    pub locks: InitLocks,
    pub tokens: Tokens,
}

impl ConfigController {
    /// Creates the controller.
    pub fn new(manager: &Manager) -> Self {
        Self {
            manager: manager.clone(),
            configs: manager.objects(),
            owners: Owners::new(manager),
            secrets: ClusterSecrets::new(manager),
            locks: InitLocks::new(manager),
            tokens: Tokens::new(manager),
        }
    }
}
