//! The state that the plan depends on.

use std::sync::Arc;

use engine::NamespacedName;
use schemas::cluster::Cluster;
use schemas::infrastructure::{Metal3Data, Metal3DataClaim, Metal3DataTemplate};

/// The state that the plan depends on.
#[derive(Debug, Default)]
pub struct Observed {
    /// Namespace and name of the template.
    pub name: NamespacedName,
    /// The template, if it exists.
    pub template: Option<Arc<Metal3DataTemplate>>,
    /// Its Cluster, if it exists.
    pub cluster: Option<Arc<Cluster>>,
    /// The claims without an index, and those that are being deleted.
    pub claims: Vec<Arc<Metal3DataClaim>>,
    /// The Metal3Data of the template, and others with its name in theirs.
    pub data: Vec<Arc<Metal3Data>>,
    /// Names of the Metal3Data in `data` whose claim does not exist.
    pub without_claim: Vec<String>,
}
