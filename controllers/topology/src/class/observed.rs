//! The state of the world that the plan of a ClusterClass depends on.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use kube::api::DynamicObject;
use schemas::cluster::{ClusterClass, ClusterClassVariable};
use schemas::meta::TemplateReference;

/// A template that the class refers to.
#[derive(Debug, Clone)]
pub struct Template {
    /// The reference.
    pub reference: TemplateReference,
    /// The template; `None` if it does not exist, and an error if it cannot be read.
    pub object: std::result::Result<Option<Arc<DynamicObject>>, String>,
    /// The version of the kind that implements the newest contract, and an error if there is none.
    pub newest_version: std::result::Result<String, String>,
}

/// The variables that the extension of a patch defines.
#[derive(Debug, Clone)]
pub struct Discovered {
    /// The name of the patch.
    pub patch: String,
    /// The definitions, and an error if the extension failed.
    pub variables: std::result::Result<Vec<ClusterClassVariable>, String>,
}

/// The state of the world that the plan of a ClusterClass depends on.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The reconciled ClusterClass.
    pub class: Arc<ClusterClass>,
    /// The templates, each once.
    pub templates: Vec<Template>,
    /// The variables of external patches, in the order of the patches.
    pub discovered: Vec<Discovered>,
    /// The time of this reconcile.
    pub now: DateTime<Utc>,
}
