//! Reads the objects on which the plan of a MachineHealthCheck depends.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::{External, Manager, NamespacedName, Objects, Workload};
use k8s_openapi::api::core::v1::Node;
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine, MachineHealthCheck};
use schemas::meta::ContractVersionedObjectReference;

use crate::change::Reference;
use crate::machine::node_name;
use crate::selector;

/// The Node of a watched Machine.
#[derive(Debug, Clone, Default)]
pub enum MachineNode {
    /// The Machine has no Node yet, or no control plane where to look for it.
    #[default]
    None,
    /// The Machine had a Node of this name, which does not exist any more.
    Deleted(String),
    /// The Node.
    Found(Arc<Node>),
}

/// A Machine that the selector matches.
#[derive(Debug, Clone)]
pub struct Target {
    /// The Machine.
    pub machine: Arc<Machine>,
    /// Its Node.
    pub node: MachineNode,
    /// The object that asks an external controller to remediate the Machine; only read if there is a template.
    pub request: Reference,
}

/// The state of the world that a MachineHealthCheck's plan depends on.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The reconciled MachineHealthCheck.
    pub check: Arc<MachineHealthCheck>,
    /// The MachineHealthCheck's Cluster.
    pub cluster: Arc<Cluster>,
    /// The Machines of the Cluster that the selector matches; `None` while their Nodes are out of reach.
    pub targets: Option<Vec<Target>>,
    /// The template of the objects that ask for external remediation.
    pub template: Reference,
    /// The time of this reconcile.
    pub now: DateTime<Utc>,
}

/// The controller of MachineHealthChecks.
pub(super) struct HealthCheckController {
    pub manager: Manager,
    pub clusters: Objects<Cluster>,
    pub checks: Objects<MachineHealthCheck>,
    pub machines: Objects<Machine>,
    pub external: External,
    pub recorder: engine::events::Recorder,
}

/// Returns the reference to the template for external remediation, if there is one. As for all references to providers' objects, the
/// version follows from the contract.
pub(super) fn template_of(check: &MachineHealthCheck) -> Option<ContractVersionedObjectReference> {
    let template = check.spec.remediation.as_ref()?.template_ref.as_ref()?;
    let (group, _) = template.api_version.split_once('/').unwrap_or(("", &template.api_version));
    Some(ContractVersionedObjectReference {
        api_group: group.to_owned(),
        kind: template.kind.clone(),
        name: template.name.clone(),
    })
}

impl HealthCheckController {
    /// Reads the state on which the plan of `check` depends.
    pub(super) async fn read(&self, check: Arc<MachineHealthCheck>, cluster: Arc<Cluster>) -> Observed {
        let namespace = check.metadata.namespace.clone().unwrap_or_default();
        let reference = template_of(&check);
        let template = Reference::read(&self.external, &namespace, reference.as_ref()).await;
        let targets = match self.workload(&cluster) {
            Err(_) => None,
            Ok(workload) => {
                let mut targets = Vec::new();
                for machine in self.selected(&check, &cluster) {
                    let node = node_of(workload.as_deref(), &machine);
                    let request = self.request(reference.as_ref(), &machine).await;
                    targets.push(Target { machine, node, request });
                }
                Some(targets)
            }
        };
        Observed { check, cluster, targets, template, now: self.manager.clock().now() }
    }

    /// Returns the connection to the workload cluster; `None` if its control plane does not exist yet.
    fn workload(&self, cluster: &Cluster) -> engine::Result<Option<Arc<Workload>>> {
        if !cluster.condition_is_true("ControlPlaneInitialized") {
            return Ok(None);
        }
        self.manager.clusters().get(&NamespacedName::of(cluster)).map(Some)
    }

    fn selected(&self, check: &MachineHealthCheck, cluster: &Cluster) -> Vec<Arc<Machine>> {
        let mut machines = self.machines.by_cluster(&NamespacedName::of(cluster));
        machines.retain(|machine| selector::matches(&check.spec.selector, machine.metadata.labels.as_ref()));
        machines
    }

    /// Reads the object that asks for the remediation of `machine`: it has the kind of the template without `Template`, and the Machine's
    /// name.
    async fn request(
        &self,
        template: Option<&ContractVersionedObjectReference>,
        machine: &Machine,
    ) -> Reference {
        let kind = template.and_then(|template| Some((template, template.kind.strip_suffix("Template")?)));
        let Some((template, kind)) = kind else { return Reference::None };
        let NamespacedName { namespace, name } = NamespacedName::of(machine);
        let api_group = template.api_group.clone();
        let reference = ContractVersionedObjectReference { api_group, kind: kind.to_owned(), name };
        Reference::read(&self.external, &namespace, Some(&reference)).await
    }
}

fn node_of(workload: Option<&Workload>, machine: &Machine) -> MachineNode {
    let (Some(workload), Some(name)) = (workload, node_name(machine)) else { return MachineNode::None };
    let node = workload.objects::<Node>().get(&NamespacedName::new("", name));
    node.map_or_else(|| MachineNode::Deleted(name.to_owned()), MachineNode::Found)
}
