//! Which templates of deleted workers nothing uses any more.

use std::sync::Arc;

use engine::object::is_deleting;
use schemas::cluster::{MachineDeployment, MachineSet, MachineTemplateSpec};
use schemas::meta::ContractVersionedObjectReference;

/// Returns the templates that `template` refers to and that neither `deployment` nor one of its MachineSets uses. What is being deleted
/// uses none.
pub fn unused(
    template: &MachineTemplateSpec,
    deployment: Option<&MachineDeployment>,
    sets: &[Arc<MachineSet>],
) -> Vec<ContractVersionedObjectReference> {
    let mut used = Vec::new();
    if let Some(deployment) = deployment.filter(|deployment| !is_deleting(*deployment)) {
        used.extend(references(&deployment.spec.template));
    }
    for set in sets.iter().filter(|set| !is_deleting(set.as_ref())) {
        used.extend(references(&set.spec.template));
    }
    references(template).into_iter().filter(|reference| !used.contains(reference)).cloned().collect()
}

fn references(template: &MachineTemplateSpec) -> Vec<&ContractVersionedObjectReference> {
    let all = [template.spec.bootstrap.config_ref.as_ref(), Some(&template.spec.infrastructure_ref)];
    all.into_iter().flatten().filter(|reference| !reference.name.is_empty()).collect()
}
