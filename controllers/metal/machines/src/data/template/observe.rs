//! Reads the state that the plan of a template depends on.

use std::sync::Arc;

use engine::NamespacedName;
use schemas::cluster::Cluster;
use schemas::infrastructure::{Metal3Data, Metal3DataClaim, Metal3DataTemplate};

use super::{BY_TEMPLATE, TemplateReconciler, UNSETTLED};

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

impl TemplateReconciler {
    /// Reads the state that the plan of a template depends on.
    pub(super) fn observe(
        &self,
        name: &NamespacedName,
        template: Option<Arc<Metal3DataTemplate>>,
        cluster: Option<Arc<Cluster>>,
    ) -> Observed {
        let data = self.data.by_index(BY_TEMPLATE, &name.to_string());
        let has_claim = |data: &&Arc<Metal3Data>| {
            let claim = data.spec.claim.as_ref().and_then(|claim| claim.name.clone()).unwrap_or_default();
            self.claims.get(&NamespacedName::new(name.namespace.as_str(), claim)).is_some()
        };
        let without_claim = data.iter().filter(|data| !has_claim(data));
        Observed {
            name: name.clone(),
            template,
            cluster,
            claims: self.claims.by_index(UNSETTLED, &name.to_string()),
            without_claim: without_claim.filter_map(|data| data.metadata.name.clone()).collect(),
            data,
        }
    }
}
