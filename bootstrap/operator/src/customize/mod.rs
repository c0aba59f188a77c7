//! Changes of components that an object wants: of its Deployments, then patches.

mod deployment;
mod manager;
mod patches;

use clusterctl::components::Components;
use schemas::operator::ProviderSpec;
use serde_json::Value;

use crate::failure::Failure;
use crate::names::PROVIDER;

/// Changes components as the object wants. The labels by which they are found again stay, whatever a patch does.
///
/// # Errors
/// A patch is invalid or does not fit, or a Deployment has no container for the settings of a manager.
pub(crate) fn apply(spec: &ProviderSpec, components: &mut Components) -> Result<(), Failure> {
    let labels: Vec<Value> =
        components.objects.iter().map(|object| object["metadata"]["labels"].clone()).collect();
    customize(spec, &mut components.objects)?;
    for (object, labels) in components.objects.iter_mut().zip(labels) {
        for name in [PROVIDER, "clusterctl.cluster.x-k8s.io"] {
            object["metadata"]["labels"][name] = labels[name].clone();
        }
    }
    Ok(())
}

/// Changes objects as the object wants.
///
/// # Errors
/// As for the components of a provider.
pub fn customize(spec: &ProviderSpec, objects: &mut [Value]) -> Result<(), Failure> {
    deployment::customize(spec, objects)?;
    patches::apply(spec, objects)
}
