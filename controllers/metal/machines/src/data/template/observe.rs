//! Reads the state that the plan of a template depends on.

use std::sync::Arc;

use engine::NamespacedName;
use schemas::cluster::Cluster;
use schemas::infrastructure::{Metal3Data, Metal3DataTemplate};

use super::observed::Observed;
use super::{BY_TEMPLATE, TemplateReconciler, UNSETTLED};

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
