//! One request, as the rules see it.

use serde_json::Value;

use super::common::annotation;
use super::features::Features;

/// One request, as the rules see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    /// What is switched on.
    pub features: Features,
    /// The object as it will be, with defaults.
    pub new: &'a Value,
    /// The object as it is; `None` on creation.
    pub old: Option<&'a Value>,
    /// Whether nothing will be stored.
    pub dry_run: bool,
}

/// The annotation on objects that the topology controller applies only to see what would change.
const TOPOLOGY_DRY_RUN: &str = "topology.cluster.x-k8s.io/dry-run";

impl Request<'_> {
    /// Whether rules about what can't be changed are left out, since the topology controller only asks what would change.
    pub(super) fn skips_immutability(&self) -> bool {
        self.dry_run && annotation(self.new, TOPOLOGY_DRY_RUN).is_some()
    }
}
