//! What a class says, with its templates read.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemas::cluster::{ClusterClass, MachineDeploymentClass, MachinePoolClass};
use serde_json::Value;

/// A class with its templates.
#[derive(Debug, Clone)]
pub struct Blueprint {
    /// The class.
    pub class: Arc<ClusterClass>,
    /// Template of what the cluster shares.
    pub infrastructure: Template,
    /// Template of the control plane.
    pub control_plane: Template,
    /// Template of the infrastructure of control plane machines; `None` if the control plane does not consist of machines.
    pub control_plane_machines: Option<Template>,
    /// Templates of the MachineDeployment classes, by the name of the class.
    pub machine_deployments: BTreeMap<String, WorkerTemplates>,
    /// Templates of the MachinePool classes, by the name of the class.
    pub machine_pools: BTreeMap<String, WorkerTemplates>,
}

/// A template that a class refers to.
#[derive(Debug, Clone)]
pub struct Template {
    /// The whole object, with apiVersion and kind.
    pub object: Value,
}

/// The templates of a class of workers.
#[derive(Debug, Clone)]
pub struct WorkerTemplates {
    /// Template of the bootstrap configuration.
    pub bootstrap: Template,
    /// Template of the infrastructure.
    pub infrastructure: Template,
}

impl Blueprint {
    /// Returns the MachineDeployment class of this name.
    pub(crate) fn machine_deployment_class(&self, name: &str) -> Option<&MachineDeploymentClass> {
        self.class.spec.workers.as_ref()?.machine_deployments.iter().find(|class| class.class == name)
    }

    /// Returns the MachinePool class of this name.
    pub(crate) fn machine_pool_class(&self, name: &str) -> Option<&MachinePoolClass> {
        self.class.spec.workers.as_ref()?.machine_pools.iter().find(|class| class.class == name)
    }

    /// Returns `NAMESPACE/NAME` of the class, for messages.
    pub(crate) fn class_name(&self) -> String {
        let metadata = &self.class.metadata;
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        format!("{}/{}", text(&metadata.namespace), text(&metadata.name))
    }
}
