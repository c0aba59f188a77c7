//! Reads the objects on which the plan of a MachineSet depends.

use std::sync::Arc;

use engine::batch::to_create;
use engine::object::{is_deleting, uid};
use engine::selector;
use engine::{Applied, External, ExternalObject, Manager, NamespacedName, Objects, owners};
use schemas::cluster::{Cluster, Machine, MachineDeployment, MachineSet};

use super::facts::{deployment_name, target_name};
use super::observed::Observed;
use crate::change::Reference;

/// Index of Machines without a controller, by namespace.
pub(super) const BY_ORPHAN: &str = "orphan";

/// The controller of MachineSets.
pub(super) struct MachineSetController {
    pub manager: Manager,
    pub clusters: Objects<Cluster>,
    pub deployments: Objects<MachineDeployment>,
    pub sets: Objects<MachineSet>,
    pub machines: Objects<Machine>,
    pub external: External,
    pub applied: Applied,
    pub recorder: engine::events::Recorder,
}

impl MachineSetController {
    /// Reads the state on which the plan of `set` depends.
    pub(super) async fn read(&self, set: Arc<MachineSet>, cluster: Arc<Cluster>) -> Observed {
        let namespace = set.metadata.namespace.clone().unwrap_or_default();
        let spec = &set.spec.template.spec;
        let bootstrap = Reference::read(&self.external, &namespace, spec.bootstrap.config_ref.as_ref()).await;
        let infrastructure =
            Reference::read(&self.external, &namespace, Some(&spec.infrastructure_ref)).await;
        let control_plane =
            Reference::read(&self.external, &namespace, cluster.spec.control_plane_ref.as_ref()).await;
        let deployment = deployment_name(&set)
            .and_then(|name| self.deployments.get(&NamespacedName::new(namespace.as_str(), name)));
        let is_selected =
            |machine: &Machine| selector::matches(&set.spec.selector, machine.metadata.labels.as_ref());
        let mut machines = self.machines.by_owner(uid(set.as_ref()));
        machines.retain(|machine| {
            owners::is_controlled_by(machine.as_ref(), uid(set.as_ref())) && is_selected(machine)
        });
        if !is_deleting(set.as_ref()) {
            let mut orphans = self.machines.by_index(BY_ORPHAN, &namespace);
            orphans.retain(|machine| !is_deleting(machine.as_ref()) && is_selected(machine));
            machines.extend(orphans);
        }
        let missing = to_create(set.spec.replicas.unwrap_or(0), machines.len());
        let suffixes = (0..missing).map(|_| self.manager.random().name_suffix()).collect();
        let target =
            target_name(&set).and_then(|name| self.sets.get(&NamespacedName::new(namespace.as_str(), name)));
        let parts = self.parts(&set, &machines).await;
        let now = self.manager.clock().now();
        Observed {
            set,
            cluster,
            deployment,
            machines,
            bootstrap,
            infrastructure,
            control_plane,
            target,
            parts,
            features: self.manager.features(),
            suffixes,
            now,
        }
    }

    /// Returns the bootstrap and infrastructure objects of the Machines, and those that the MachineSet itself
    /// still owns.
    async fn parts(&self, set: &MachineSet, machines: &[Arc<Machine>]) -> Vec<ExternalObject> {
        let spec = &set.spec.template.spec;
        let mut parts = Vec::new();
        for reference in
            [spec.bootstrap.config_ref.as_ref(), Some(&spec.infrastructure_ref)].into_iter().flatten()
        {
            let Some(kind) = reference.kind.strip_suffix("Template") else { continue };
            let Ok((objects, resolved)) = self.external.objects(&reference.api_group, kind).await else {
                continue;
            };
            let mut found = objects.by_owner(uid(set));
            // A Machine that the selector no longer matches keeps its objects.
            found.retain(|object| {
                let machine = self.machines.get(&NamespacedName::of(object.as_ref()));
                machine.is_none_or(|machine| {
                    machines.iter().any(|own| uid(own.as_ref()) == uid(machine.as_ref()))
                })
            });
            for machine in machines {
                found.extend(objects.by_owner(uid(machine.as_ref())));
            }
            let (resource, contract) = (resolved.resource, resolved.contract);
            parts.extend(found.into_iter().map(|object| ExternalObject {
                object,
                resource: resource.clone(),
                contract,
            }));
        }
        parts
    }
}
