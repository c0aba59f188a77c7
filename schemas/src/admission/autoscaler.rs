//! Replicas of workers that an autoscaler scales.

use super::common::Errors;
use super::defaults::{AUTOSCALER_MAX, AUTOSCALER_MIN};
use crate::cluster::{Cluster, ClusterClass, Topology};
use crate::meta::ObjectMetaTemplate;

/// Refuses replicas of workers that an autoscaler scales, according to their own annotations or those of their class.
pub fn autoscaled_replicas(
    cluster: &Cluster,
    topology: &Topology,
    class: Option<&ClusterClass>,
    errors: &mut Errors,
) {
    let has = |metadata: Option<&ObjectMetaTemplate>| {
        let annotations = metadata.map(|metadata| &metadata.annotations);
        let is_set = |key| annotations.is_some_and(|annotations| annotations.contains_key(key));
        is_set(AUTOSCALER_MIN) || is_set(AUTOSCALER_MAX)
    };
    let classes = || class.and_then(|class| class.spec.workers.as_ref()).into_iter();
    let deployments = topology.workers.iter().flat_map(|workers| &workers.machine_deployments);
    for deployment in deployments {
        let Some(replicas) = deployment.replicas else { continue };
        let of_class = || {
            let mut classes = classes().flat_map(|workers| &workers.machine_deployments);
            let class = classes.find(|class| class.class == deployment.class);
            has(class.and_then(|class| class.metadata.as_ref()))
        };
        let source = if has(deployment.metadata.as_ref()) {
            "the MachineDeployment has".to_owned()
        } else if of_class() {
            format!("the MachineDeployment class {:?} has", deployment.class)
        } else {
            continue;
        };
        let name = cluster.metadata.name.as_deref().unwrap_or_default();
        let namespace = cluster.metadata.namespace.as_deref().unwrap_or_default();
        errors.invalid(
            format_args!("spec.topology.workers.machineDeployments[{}].replicas", deployment.name),
            replicas,
            format!(
                "must not be set in the Cluster {namespace}/{name}: {source} annotations of an autoscaler"
            ),
        );
    }
}
