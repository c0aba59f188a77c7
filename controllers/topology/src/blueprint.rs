//! What a class says, with its templates read.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemas::cluster::{Cluster, ClusterClass, MachineDeploymentClass, MachinePoolClass};
use serde_json::Value;

use crate::current::Parts;
use crate::size::measure;

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

    /// Returns about how many bytes the templates of a Cluster have: each entry of its workers gets copies of those of its class.
    pub(crate) fn copied_bytes(&self, cluster: &Cluster) -> usize {
        let Some(parts) = Parts::of(cluster) else { return 0 };
        let bytes = |template: &Template| measure(&template.object).bytes;
        let of_workers = |templates: &BTreeMap<String, WorkerTemplates>| -> BTreeMap<String, usize> {
            let sizes = templates.iter().map(|(class, both)| {
                (class.clone(), bytes(&both.bootstrap).saturating_add(bytes(&both.infrastructure)))
            });
            sizes.collect()
        };
        let (deployments, pools) = (of_workers(&self.machine_deployments), of_workers(&self.machine_pools));
        let deployments = parts.machine_deployments.iter().filter_map(|entry| deployments.get(&entry.class));
        let pools = parts.machine_pools.iter().filter_map(|entry| pools.get(&entry.class));
        let single =
            [Some(&self.infrastructure), Some(&self.control_plane), self.control_plane_machines.as_ref()];
        let single = single.into_iter().flatten().map(bytes);
        single.chain(deployments.chain(pools).copied()).fold(0, usize::saturating_add)
    }

    /// Returns `NAMESPACE/NAME` of the class, for messages.
    pub(crate) fn class_name(&self) -> String {
        let metadata = &self.class.metadata;
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        format!("{}/{}", text(&metadata.namespace), text(&metadata.name))
    }
}
