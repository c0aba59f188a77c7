//! Reads the objects on which the plan of a MachineHealthCheck depends.

use std::sync::Arc;

use engine::selector;
use engine::{Error, External, ExternalObject, Manager, NamespacedName, Objects, Result, Workload};
use k8s_openapi::api::core::v1::Node;
use kube::api::DynamicObject;
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine, MachineHealthCheck};
use schemas::meta::TemplateReference;

use super::observed::{MachineNode, Observed, Target};
use crate::change::Reference;
use crate::machine::node_name;

/// The controller of MachineHealthChecks.
pub(super) struct HealthCheckController {
    pub manager: Manager,
    pub clusters: Objects<Cluster>,
    pub checks: Objects<MachineHealthCheck>,
    pub machines: Objects<Machine>,
    pub external: External,
    pub recorder: engine::events::Recorder,
}

/// Returns the reference to the template for external remediation, if there is one.
pub(super) fn template_of(check: &MachineHealthCheck) -> Option<&TemplateReference> {
    check.spec.remediation.as_ref()?.template_ref.as_ref()
}

impl HealthCheckController {
    /// Reads the state on which the plan of `check` depends.
    pub(super) async fn read(&self, check: Arc<MachineHealthCheck>, cluster: Arc<Cluster>) -> Observed {
        let (template, requests) = match template_of(&check) {
            None => (Reference::None, None),
            Some(template) => (self.template(&check, template).await, Some(self.requests(template).await)),
        };
        let targets = self.workload(&cluster).ok().map(|workload| {
            let machines = self.selected(&check, &cluster).into_iter();
            machines
                .map(|machine| Target {
                    node: node_of(workload.as_deref(), &machine),
                    // What asks for the remediation of a Machine has its name.
                    request: requests.as_ref().map_or(Reference::None, |requests| {
                        found(requests, &NamespacedName::of(machine.as_ref()))
                    }),
                    machine,
                })
                .collect()
        });
        Observed { check, cluster, targets, template, now: self.manager.clock().now() }
    }

    /// Returns the connection to the workload cluster; `None` if its control plane does not exist yet.
    fn workload(&self, cluster: &Cluster) -> Result<Option<Arc<Workload>>> {
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

    async fn template(&self, check: &MachineHealthCheck, template: &TemplateReference) -> Reference {
        let templates = self.external.objects_at(&template.api_version, &template.kind).await;
        let namespace = check.metadata.namespace.as_deref().unwrap_or_default();
        found(&templates, &NamespacedName::new(namespace, template.name.as_str()))
    }

    /// Returns the objects that are made from the template, in its version: their kind is that of the template without `Template`.
    async fn requests(&self, template: &TemplateReference) -> Result<Objects<DynamicObject>> {
        let kind = template.kind.strip_suffix("Template").ok_or_else(|| {
            Error::failed(format!(
                "spec.remediation.templateRef.kind {} is not the kind of a template: its name does not end in Template",
                template.kind
            ))
        })?;
        self.external.objects_at(&template.api_version, kind).await
    }
}

/// Returns an object of external remediation: a template, or what is made from one.
fn found(objects: &Result<Objects<DynamicObject>>, name: &NamespacedName) -> Reference {
    let objects = match objects {
        Ok(objects) => objects,
        Err(error) => return Reference::Failed(error.to_string()),
    };
    objects.get(name).map_or(Reference::NotFound, |object| {
        // No contract says where fields of such objects are: they are only made and deleted.
        Reference::Found(ExternalObject { object, resource: objects.dynamic_type().clone(), contract: "" })
    })
}

fn node_of(workload: Option<&Workload>, machine: &Machine) -> MachineNode {
    let (Some(workload), Some(name)) = (workload, node_name(machine)) else { return MachineNode::None };
    let node = workload.objects::<Node>().get(&NamespacedName::new("", name));
    node.map_or_else(|| MachineNode::Deleted(name.to_owned()), MachineNode::Found)
}
