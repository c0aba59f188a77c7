//! The KubeadmControlPlane controller: the Machines of a control plane, their order, health and replacement.

pub mod addons;
mod adoption;
mod apply;
pub mod authorities;
pub mod choose;
mod control_plane_conditions;
mod deletion;
pub mod desired;
pub mod etcd_members;
mod expiry;
mod in_place;
mod kubeconfig;
pub mod machine_conditions;
mod machines;
mod observe;
pub mod observed;
pub mod outdated;
pub mod plan;
pub mod preflight;
pub mod record;
pub mod remediation;
pub mod removal;
mod scaling;
mod situation;
pub mod status;
mod step;
mod triggers;
mod v1beta1;
mod wake;

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::in_place::{Decisions, SharedUpdater};
use engine::object::{self, Request};
use engine::{
    Applied, Controller, Descriptor, Error, External, Frame, GroupKind, Manager, Membership, NamespacedName,
    Objects, Outcome, Planned,
};
use k8s_openapi::api::core::v1::{Node, Pod};
use parking_lot::Mutex;
use schemas::cluster::Cluster;
use schemas::controlplane::KubeadmControlPlane;

use crate::checks::Checks;
use crate::etcd::EtcdClients;
use crate::names;
use observe::ControlPlaneController;
use observed::Observed;
use plan::Plan;
use triggers::{
    cluster_of_machine, cluster_requests, control_plane_of, machine_matters, node_matters, of_template,
    pod_matters, secret_cluster,
};

/// As upstream: control planes whose workload clusters are silent must not hold up the others.
const CONCURRENCY: usize = 100;
/// The component that events name.
const COMPONENT: &str = "kubeadmcontrolplane-controller";

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor<SharedUpdater> = Descriptor {
    name: "kubeadmcontrolplane",
    reconciles: &[GroupKind::new(KubeadmControlPlane::GROUP, KubeadmControlPlane::KIND)],
    start,
};

/// Starts the KubeadmControlPlane controller.
fn start(manager: &Manager, updater: &SharedUpdater) {
    let controller = Controller::new(manager, CONTROLLER.name);
    let this = ControlPlaneController {
        manager: manager.clone(),
        external: External::new(manager, &controller.queue(), of_template(&manager.objects())),
        control_planes: manager.objects(),
        machines: manager.objects(),
        pools: manager.objects(),
        configs: manager.objects(),
        clusters: manager.objects(),
        secrets: manager.objects(),
        recorder: manager.recorder(COMPONENT),
        etcd: EtcdClients::default(),
        applied: Applied::default(),
        checks: Checks::default(),
        kubeconfigs: Mutex::default(),
        recorded_events: Mutex::default(),
        updater: updater.clone(),
        decisions: Decisions::default(),
        expiry_asked: Mutex::default(),
    };
    let lookup = || {
        let clusters = this.clusters.cache().clone();
        move |cluster: &NamespacedName| -> Vec<Request> {
            let found = clusters.get(cluster);
            found.and_then(|cluster| control_plane_of(&cluster)).into_iter().collect()
        }
    };
    let (of_machine, of_pool, of_secret) = (lookup(), lookup(), lookup());
    let (of_node, of_pod, of_connection, of_addon) = (lookup(), lookup(), lookup(), Arc::new(lookup()));
    let controller = controller
        .reconciles(&this.control_planes)
        .watches(&this.machines, move |change| {
            let mut requests =
                if machine_matters(change) { of_machine(&cluster_of_machine(change)) } else { Vec::new() };
            // The deleted Machine's Cluster may not exist any more, so its owner is requested, too.
            if change.new.is_none() {
                let (group, kind) = (KubeadmControlPlane::GROUP, KubeadmControlPlane::KIND);
                requests.extend(engine::controller::owner_requests(change, group, kind));
            }
            requests
        })
        .watches(&this.pools, move |change| {
            let gone = change.new.is_none();
            let name = change.objects().last().map(|pool| pool.spec.cluster_name.clone()).unwrap_or_default();
            if gone { of_pool(&NamespacedName::new(change.name().namespace, name)) } else { Vec::new() }
        })
        .watches(&this.clusters, cluster_requests)
        .watches(&this.secrets, move |change| {
            secret_cluster(change).map(|cluster| of_secret(&cluster)).unwrap_or_default()
        })
        .reads(&this.configs)
        .concurrency(CONCURRENCY);
    let queue = controller.queue();
    manager.clusters().notify(&queue, of_connection);
    manager.clusters().watch::<Node>(&queue, move |cluster, change| {
        if node_matters(change) { of_node(cluster) } else { Vec::new() }
    });
    manager.clusters().watch_in::<Pod>(&queue, observe::static_pods(), move |cluster, change| {
        if pod_matters(change) { of_pod(cluster) } else { Vec::new() }
    });
    addons::watch(manager.clusters(), &queue, move |cluster| of_addon(cluster));
    controller.start(Frame::new(this));
}

impl Planned for ControlPlaneController {
    type Object = KubeadmControlPlane;
    type Observed = Observed;
    type Plan = Plan;

    const FINALIZER: Option<&'static str> = Some(names::FINALIZER);
    const OWNED: &'static [&'static str] = apply::OWNED;
    const DEBOUNCES_MESSAGES: bool = true;

    fn objects(&self) -> &Objects<KubeadmControlPlane> {
        &self.control_planes
    }

    fn manager(&self) -> &Manager {
        &self.manager
    }

    /// Returns the Cluster of the control plane, whose controller sets the owner reference.
    fn cluster(&self, control_plane: &Arc<KubeadmControlPlane>) -> Membership {
        self.cluster_of(control_plane).map_or(Membership::Missing(None), Membership::Of)
    }

    /// Returns whether the control plane still owns Machines. If it is deleted after its Cluster, it waits for them.
    async fn has_parts(&self, control_plane: &Arc<KubeadmControlPlane>) -> bool {
        !self.machines.by_owner(object::uid(control_plane.as_ref())).is_empty()
    }

    async fn forget(&self, _: &Request) {
        let all = self.control_planes.all();
        let uids: BTreeSet<&str> = all.iter().map(|it| object::uid(it.as_ref())).collect();
        self.recorded_events.lock().retain(|uid, _| uids.contains(uid.as_str()));
        let clusters: BTreeSet<NamespacedName> = all
            .iter()
            .filter_map(|it| self.cluster_of(it))
            .map(|cluster| NamespacedName::of(cluster.as_ref()))
            .collect();
        self.etcd.retain(&clusters);
    }

    async fn observe(
        &self,
        control_plane: Arc<KubeadmControlPlane>,
        cluster: Option<Arc<Cluster>>,
    ) -> engine::Result<Option<Observed>> {
        let Some(cluster) = cluster else { return Ok(None) };
        self.read(&control_plane, &cluster).await.map(Some).map_err(crate::Error::into_engine)
    }

    fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
        plan::plan(observed, now)
    }

    async fn apply(&self, observed: &Observed, plan: Plan) -> Outcome<KubeadmControlPlane> {
        self.execute(observed, plan).await
    }

    fn report(control_plane: &mut KubeadmControlPlane, errors: &[&Error], now: DateTime<Utc>) {
        status::report(control_plane, errors);
        v1beta1::report(control_plane, errors, now);
    }

    fn observed_generation(control_plane: &mut KubeadmControlPlane) -> Option<&mut Option<i64>> {
        Some(&mut control_plane.status.get_or_insert_default().observed_generation)
    }
}
