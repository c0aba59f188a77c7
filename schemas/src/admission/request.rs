//! One request, as the rules see it.

use serde_json::Value;

use super::common::annotation;
use super::facts::Facts;
use super::features::Features;

/// A request as the rules need it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    /// The enabled features.
    pub features: Features,
    /// The new object, with defaults.
    pub new: &'a Value,
    /// The stored object; `None` for a create.
    pub old: Option<&'a Value>,
    /// Whether the request is a dry run.
    pub dry_run: bool,
    /// What is known about other objects.
    pub facts: &'a Facts,
}

/// Annotation on objects that the topology controller applies only as a dry run, to see what would change.
const TOPOLOGY_DRY_RUN: &str = "topology.cluster.x-k8s.io/dry-run";

impl Request<'_> {
    /// Returns whether rules about immutable fields are skipped because the topology controller only computes
    /// changes.
    pub(super) fn skips_immutability(&self) -> bool {
        self.dry_run && annotation(self.new, TOPOLOGY_DRY_RUN).is_some()
    }
}
