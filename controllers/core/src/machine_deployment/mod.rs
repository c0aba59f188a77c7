//! The MachineDeployment controller.

pub mod changes;
mod decisions;
mod facts;
mod in_place;
mod observe;
mod observed;
pub mod paused;
mod plan;
pub mod rollout;
mod sets;
mod status;
pub(crate) mod template;
mod v1beta1;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::controller::requests_of;
use engine::external::{change_key, reference_key};
use engine::in_place::{Decisions, SharedUpdater};
use engine::names::DEPLOYMENT_NAME;
use engine::object::{label, uid};
use engine::{
    Applied, Change, Controller, Descriptor, Error, External, Frame, GroupKind, Manager, Membership,
    NamespacedName, Objects, Outcome, Planned, Request, Result, Tools, owners,
};
use schemas::cluster::{Cluster, Machine, MachineDeployment, MachineSet};

pub use facts::REVISION;
pub use observed::{Observed, Updates};
pub use plan::{FINALIZER, Plan, plan};
pub(crate) use sets::HASH;

use crate::change::{cluster_of, report};
use engine::selector;
use observe::{BY_ORPHAN, MachineDeploymentController};

const OWNED: &[&str] = &[
    "Available",
    "RollingOut",
    "Remediating",
    "ScalingDown",
    "ScalingUp",
    "MachinesReady",
    "MachinesUpToDate",
    "Paused",
    "Deleting",
];
const CONCURRENCY: usize = 50;
const BY_REFERENCE: &str = "reference";

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor<SharedUpdater> = Descriptor {
    name: "machinedeployment",
    reconciles: &[GroupKind::new(MachineDeployment::GROUP, MachineDeployment::KIND)],
    start,
};

/// Starts the MachineDeployment controller.
fn start(manager: &Manager, updater: &SharedUpdater) {
    let deployments = manager.objects::<MachineDeployment>();
    deployments.index(BY_REFERENCE, |deployment| {
        let namespace = deployment.metadata.namespace.as_deref().unwrap_or_default();
        let spec = &deployment.spec.template.spec;
        let references = [spec.bootstrap.config_ref.as_ref(), Some(&spec.infrastructure_ref)];
        references.into_iter().flatten().map(|reference| reference_key(namespace, reference)).collect()
    });
    let sets = manager.objects::<MachineSet>();
    sets.index(BY_ORPHAN, |set| {
        let is_orphan = owners::controller(set).is_none();
        is_orphan.then(|| set.metadata.namespace.clone().unwrap_or_default()).into_iter().collect()
    });
    let (clusters, machines) = (manager.objects::<Cluster>(), manager.objects::<Machine>());
    let of_cluster = deployments.clone();
    let orphans = deployments.clone();
    let controller = Controller::new(manager, CONTROLLER.name)
        .concurrency(CONCURRENCY)
        .reconciles(&deployments)
        .owns(&sets, MachineDeployment::GROUP, MachineDeployment::KIND)
        .watches(&sets, move |change| selected_by(change, &orphans))
        .watches(&machines, of_machine)
        .watches(&clusters, move |change| {
            let paused = |cluster: &Arc<Cluster>| cluster.spec.paused;
            if change.old.as_ref().map(paused) == change.new.as_ref().map(paused) {
                return Vec::new();
            }
            let list = of_cluster.by_cluster(&change.name());
            requests_of(&list)
        });
    let queue = controller.queue();
    let referring = deployments.clone();
    let external = External::new(manager, &queue, move |resource, change| {
        // The content of a template is only read when a Machine is created from it, so only its creation and
        // deletion matter.
        if change.old.is_some() && change.new.is_some() {
            return Vec::new();
        }
        let list = referring.by_index(BY_REFERENCE, &change_key(resource, change));
        requests_of(&list)
    });
    let recorder = manager.recorder("machinedeployment-controller");
    let (manager, applied) = (manager.clone(), Applied::default());
    controller.start(Frame::new(MachineDeploymentController {
        manager,
        clusters,
        deployments,
        sets,
        machines,
        external,
        applied,
        recorder,
        updater: updater.clone(),
        decisions: Decisions::default(),
    }));
}

/// Returns the MachineDeployments whose selector matches a MachineSet without a controller.
fn selected_by(change: &Change<MachineSet>, deployments: &Objects<MachineDeployment>) -> Vec<Request> {
    let Some(set) = change.new.as_ref().filter(|set| owners::controller(set.as_ref()).is_none()) else {
        return Vec::new();
    };
    let mut list = deployments.in_namespace(set.metadata.namespace.as_deref().unwrap_or_default());
    list.retain(|deployment| selector::matches(&deployment.spec.selector, set.metadata.labels.as_ref()));
    requests_of(&list)
}

fn of_machine(change: &Change<Machine>) -> Vec<Request> {
    let mut requests: Vec<Request> = change
        .objects()
        .filter_map(|machine| {
            let namespace = machine.metadata.namespace.clone().unwrap_or_default();
            Some(NamespacedName::new(namespace, label(machine.as_ref(), DEPLOYMENT_NAME)?))
        })
        .collect();
    requests.dedup();
    requests
}

impl Planned for MachineDeploymentController {
    type Object = MachineDeployment;
    type Observed = Observed;
    type Plan = Plan;

    const FINALIZER: Option<&'static str> = Some(FINALIZER);
    const OWNED: &'static [&'static str] = OWNED;
    const DEBOUNCES_MESSAGES: bool = true;

    fn objects(&self) -> &Objects<MachineDeployment> {
        &self.deployments
    }

    fn manager(&self) -> &Manager {
        &self.manager
    }

    fn cluster(&self, deployment: &Arc<MachineDeployment>) -> Membership {
        cluster_of(&self.clusters, deployment.as_ref(), &deployment.spec.cluster_name)
    }

    async fn has_parts(&self, deployment: &Arc<MachineDeployment>) -> bool {
        !self.sets.by_owner(uid(deployment.as_ref())).is_empty()
    }

    async fn observe(
        &self,
        deployment: Arc<MachineDeployment>,
        cluster: Option<Arc<Cluster>>,
    ) -> Result<Option<Observed>> {
        let Some(cluster) = cluster else { return Ok(None) };
        let mut observed = self.read(deployment, cluster).await;
        if facts::split(&observed).new.is_none() {
            observed.suffix = self.manager.random().name_suffix();
        }
        observed.updates = self.decide(&observed).await;
        Ok(Some(observed))
    }

    fn plan(observed: &Observed, _: DateTime<Utc>) -> Plan {
        plan(observed)
    }

    async fn apply(&self, _: &Observed, plan: Plan) -> Outcome<MachineDeployment> {
        let tools = Tools::new(CONTROLLER.name, &self.manager);
        tools.events(&self.recorder).applied(&self.applied).perform(plan).await
    }

    fn report(deployment: &mut MachineDeployment, errors: &[&Error], _: DateTime<Utc>) {
        report(deployment, &["RollingOut", "ScalingUp", "ScalingDown", "Deleting"], errors);
    }

    fn observed_generation(deployment: &mut MachineDeployment) -> Option<&mut Option<i64>> {
        Some(&mut deployment.status.get_or_insert_default().observed_generation)
    }
}
