//! Cleans up after MachineDeployments of topologies: their templates and their health check.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::names::DEPLOYMENT_NAME;
use engine::object::{is_deleting, label};
use engine::{
    Action, Controller, Descriptor, External, Frame, Manager, Membership, NamespacedName, Objects, Outcome,
    Planned, Result, finalizer,
};
use schemas::cluster::{Cluster, MachineDeployment, MachineHealthCheck, MachineSet};
use schemas::meta::ContractVersionedObjectReference;

use super::unused::unused;
use super::{cluster_of, delete, of_paused};
use crate::Context;

/// The finalizer of MachineDeployments of topologies.
pub const FINALIZER: &str = "machinedeployment.topology.cluster.x-k8s.io";

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor<Context> =
    Descriptor { name: "topology/machinedeployment", reconciles: &[], start };

/// The state of the world that the plan depends on.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The reconciled MachineDeployment.
    pub deployment: Arc<MachineDeployment>,
    /// Its MachineSets.
    pub sets: Vec<Arc<MachineSet>>,
    /// The health check of its Machines.
    pub check: Option<Arc<MachineHealthCheck>>,
}

/// The changes that a MachineDeployment needs.
#[derive(Debug, Default)]
pub struct Plan {
    /// The MachineDeployment with its wanted finalizers.
    pub deployment: MachineDeployment,
    /// Templates to delete.
    pub templates: Vec<ContractVersionedObjectReference>,
    /// The health check to delete.
    pub check: Option<Arc<MachineHealthCheck>>,
}

/// Applies all rules. Pure function.
pub fn plan(observed: &Observed) -> Plan {
    let deployment = observed.deployment.as_ref();
    let mut plan = Plan { deployment: deployment.clone(), ..Plan::default() };
    if is_deleting(deployment) {
        plan.templates = unused(&deployment.spec.template, Some(deployment), &observed.sets);
        plan.check.clone_from(&observed.check);
        finalizer::remove(&mut plan.deployment, FINALIZER);
    }
    plan
}

struct DeploymentController {
    manager: Manager,
    clusters: Objects<Cluster>,
    deployments: Objects<MachineDeployment>,
    sets: Objects<MachineSet>,
    checks: Objects<MachineHealthCheck>,
    external: External,
}

fn start(manager: &Manager, _: &Context) {
    if !manager.features().cluster_topology {
        return;
    }
    let (clusters, deployments) = (manager.objects::<Cluster>(), manager.objects::<MachineDeployment>());
    let (sets, checks) = (manager.objects::<MachineSet>(), manager.objects::<MachineHealthCheck>());
    let of_cluster = deployments.clone();
    let controller = Controller::new(manager, CONTROLLER.name)
        .reconciles(&deployments)
        .watches(&clusters, move |change| of_paused(change, &of_cluster))
        .reads(&sets)
        .reads(&checks);
    let external = External::new(manager, &controller.queue(), |_, _| Vec::new());
    let manager = manager.clone();
    controller.start(Frame::new(DeploymentController {
        manager,
        clusters,
        deployments,
        sets,
        checks,
        external,
    }));
}

impl Planned for DeploymentController {
    type Object = MachineDeployment;
    type Observed = Observed;
    type Plan = Plan;

    const FINALIZER: Option<&'static str> = Some(FINALIZER);
    const OWNED: &'static [&'static str] = &[];

    fn objects(&self) -> &Objects<MachineDeployment> {
        &self.deployments
    }

    fn manager(&self) -> &Manager {
        &self.manager
    }

    fn cluster(&self, deployment: &Arc<MachineDeployment>) -> Membership {
        cluster_of(&self.clusters, deployment)
    }

    async fn observe(
        &self,
        deployment: Arc<MachineDeployment>,
        cluster: Option<Arc<Cluster>>,
    ) -> Result<Option<Observed>> {
        let Some(cluster) = cluster.filter(|_| is_deleting(deployment.as_ref())) else { return Ok(None) };
        let key = NamespacedName::of(deployment.as_ref());
        let mut sets = self.sets.by_cluster(&NamespacedName::of(cluster.as_ref()));
        sets.retain(|set| label(set.as_ref(), DEPLOYMENT_NAME) == Some(key.name.as_str()));
        let check = self.checks.get(&key).filter(|check| !is_deleting(check.as_ref()));
        Ok(Some(Observed { deployment, sets, check }))
    }

    fn plan(observed: &Observed, _: DateTime<Utc>) -> Plan {
        plan(observed)
    }

    async fn apply(&self, observed: &Observed, plan: Plan) -> Outcome<MachineDeployment> {
        let namespace = observed.deployment.metadata.namespace.clone().unwrap_or_default();
        let mut errors = delete(&self.external, &namespace, &plan.templates).await;
        if let Some(check) = &plan.check {
            errors.extend(self.checks.delete(check.as_ref()).await.err());
        }
        // The finalizer stays until everything is deleted.
        let wanted = errors.is_empty().then_some(plan.deployment);
        Outcome { wanted, errors, action: Action::done() }
    }
}
