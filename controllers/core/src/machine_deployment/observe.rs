//! Reads the objects on which the plan of a MachineDeployment depends.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::in_place::{Decision, Decisions, SharedUpdater};
use engine::names::DEPLOYMENT_NAME;
use engine::object::{is_deleting, label, uid};
use engine::{Applied, External, Manager, NamespacedName, Objects, owners};
use schemas::cluster::{Cluster, Machine, MachineDeployment, MachineSet};

use crate::change::Reference;
use engine::selector;

/// Index of MachineSets without a controller, by namespace.
pub(super) const BY_ORPHAN: &str = "orphan";

/// What is known of the updates in place that a rollout can make.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Updates {
    /// They are off, or nothing is rolled out.
    #[default]
    None,
    /// The decision about each old MachineSet that could hand its Machines over, by UID.
    Decided(BTreeMap<String, Decision>),
    /// A decision is missing; holds the error message. Without it, Machines might be replaced that need not be.
    Failed(String),
}

impl Updates {
    /// Returns whether the Machines of an old MachineSet are updated in place.
    pub(super) fn can_move(&self, set: &MachineSet) -> bool {
        let Self::Decided(decisions) = self else { return false };
        decisions.get(uid(set)) == Some(&Decision::InPlace)
    }
}

/// The state of the world that a MachineDeployment's plan depends on.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The reconciled MachineDeployment.
    pub deployment: Arc<MachineDeployment>,
    /// The MachineDeployment's Cluster.
    pub cluster: Arc<Cluster>,
    /// The MachineSets that the MachineDeployment controls, and those without a controller that its selector
    /// matches. A MachineDeployment that is being deleted adopts none.
    pub sets: Vec<Arc<MachineSet>>,
    /// The Machines with the MachineDeployment's label.
    pub machines: Vec<Arc<Machine>>,
    /// The bootstrap template.
    pub bootstrap: Reference,
    /// The infrastructure template.
    pub infrastructure: Reference,
    /// Random suffix for the name of the next MachineSet; empty if there is one with the current template. It is drawn only where it is
    /// used, so that a reconcile that creates nothing changes no later number of a simulation.
    pub suffix: String,
    /// Whether updates in place are on.
    pub updates_in_place: bool,
    /// Which old MachineSets hand their Machines over to the new one.
    pub updates: Updates,
    /// The time of this reconcile.
    pub now: DateTime<Utc>,
}

/// The controller of MachineDeployments.
pub(super) struct MachineDeploymentController {
    pub manager: Manager,
    pub clusters: Objects<Cluster>,
    pub deployments: Objects<MachineDeployment>,
    pub sets: Objects<MachineSet>,
    pub machines: Objects<Machine>,
    pub external: External,
    pub applied: Applied,
    pub recorder: engine::events::Recorder,
    pub updater: SharedUpdater,
    /// By namespace, and the names of an old and of the new MachineSet: nothing of a MachineSet that they depend on changes.
    pub decisions: Decisions<(String, String, String)>,
}

impl MachineDeploymentController {
    /// Reads the state on which the plan of `deployment` depends, but for the suffix and the decisions about updates in place.
    pub(super) async fn read(&self, deployment: Arc<MachineDeployment>, cluster: Arc<Cluster>) -> Observed {
        let namespace = deployment.metadata.namespace.clone().unwrap_or_default();
        let name = deployment.metadata.name.clone().unwrap_or_default();
        let spec = &deployment.spec.template.spec;
        let bootstrap = Reference::read(&self.external, &namespace, spec.bootstrap.config_ref.as_ref()).await;
        let infrastructure =
            Reference::read(&self.external, &namespace, Some(&spec.infrastructure_ref)).await;
        let mut sets = self.sets.by_owner(uid(deployment.as_ref()));
        sets.retain(|set| owners::is_controlled_by(set.as_ref(), uid(deployment.as_ref())));
        if !is_deleting(deployment.as_ref()) {
            let mut orphans = self.sets.by_index(BY_ORPHAN, &namespace);
            orphans.retain(|set| {
                !is_deleting(set.as_ref())
                    && selector::matches(&deployment.spec.selector, set.metadata.labels.as_ref())
            });
            sets.extend(orphans);
        }
        let mut machines = self.machines.by_cluster(&NamespacedName::of(cluster.as_ref()));
        machines.retain(|machine| label(machine.as_ref(), DEPLOYMENT_NAME) == Some(name.as_str()));
        let (suffix, now) = (String::new(), self.manager.clock().now());
        let updates_in_place = self.manager.features().in_place_updates;
        Observed {
            deployment,
            cluster,
            sets,
            machines,
            bootstrap,
            infrastructure,
            suffix,
            updates_in_place,
            updates: Updates::None,
            now,
        }
    }
}
