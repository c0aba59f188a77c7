//! The classes of workers, and what the control plane has in common with them: metadata, taints and rollouts.

use std::collections::BTreeSet;

use crate::admission::common::{self, Errors};
use crate::admission::features::Features;
use crate::admission::machine::{self, TaintsOf};
use crate::cluster::{ClusterClass, MachineDeploymentClass, MachinePoolClass};

/// Returns the MachineDeployment classes of a class.
pub fn deployments(class: &ClusterClass) -> &[MachineDeploymentClass] {
    class.spec.workers.as_ref().map_or(&[], |workers| &workers.machine_deployments)
}

/// Returns the MachinePool classes of a class.
pub fn pools(class: &ClusterClass) -> &[MachinePoolClass] {
    class.spec.workers.as_ref().map_or(&[], |workers| &workers.machine_pools)
}

/// Returns the path of a MachineDeployment class.
pub fn deployment_field(class: &str) -> String {
    format!("spec.workers.machineDeployments[{class}]")
}

/// Returns the path of a MachinePool class.
pub fn pool_field(class: &str) -> String {
    format!("spec.workers.machinePools[{class}]")
}

pub fn workers(features: Features, class: &ClusterClass, errors: &mut Errors) {
    let control_plane = &class.spec.control_plane;
    let field = "spec.controlPlane.metadata";
    common::template_metadata(field, control_plane.metadata.as_ref(), errors);
    let field = "spec.controlPlane.taints";
    machine::taints(field, &control_plane.taints, TaintsOf::Anything, features, errors);
    unique("machineDeployments", deployments(class).iter().map(|class| class.class.as_str()), errors);
    unique("machinePools", pools(class).iter().map(|class| class.class.as_str()), errors);
    for class in deployments(class) {
        let field = deployment_field(&class.class);
        common::template_metadata(&format!("{field}.metadata"), class.metadata.as_ref(), errors);
        machine::taints(&format!("{field}.taints"), &class.taints, TaintsOf::Workers, features, errors);
        let strategy = class.rollout.as_ref().and_then(|rollout| rollout.strategy.as_ref());
        let limits = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
        common::rolling_update(&format!("{field}.rollout.strategy.rollingUpdate"), limits, errors);
    }
    for class in pools(class) {
        let field = pool_field(&class.class);
        common::template_metadata(&format!("{field}.metadata"), class.metadata.as_ref(), errors);
        machine::taints(&format!("{field}.taints"), &class.taints, TaintsOf::Workers, features, errors);
    }
}

fn unique<'a>(list: &str, classes: impl Iterator<Item = &'a str>, errors: &mut Errors) {
    let mut known = BTreeSet::new();
    for (index, class) in classes.enumerate() {
        if !known.insert(class) {
            let detail = format!("names of classes must be unique: {class:?} is defined more than once");
            errors.invalid(format_args!("spec.workers.{list}[{index}].class"), class, detail);
        }
    }
}
