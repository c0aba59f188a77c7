//! What became of the steps of a plan.

use engine::Error;
use schemas::addons::ResourceReference;

/// The outcome of applying a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The hash of the resource, unless it cannot be read.
    pub hash: Option<String>,
    /// Why it could not be applied.
    pub failure: Option<Failure>,
}

/// The reason why a resource could not be applied. It never contains the content of a Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The reason, with the place of the object.
    pub reason: String,
    /// Whether another attempt can succeed. If not, a change of the resource will be reported by an event.
    pub is_retried: bool,
}

/// The outcome of the work on a Cluster.
#[derive(Debug)]
pub struct Applied {
    /// Name of the Cluster.
    pub cluster: String,
    /// The resources that were applied, or not.
    pub resources: Vec<(ResourceReference, Verdict)>,
    /// Whether the Cluster is not connected, so that nothing was applied.
    pub is_unconnected: bool,
    /// The error of a write in the management cluster.
    pub error: Option<Error>,
}
