//! KubeadmControlPlane: the Machines of a control plane, their order, their health, their replacement.

mod apply;
pub mod choose;
pub mod desired;
mod expiry;
mod gather;
mod health;
mod kubeconfig;
pub mod machine_conditions;
mod machines;
pub mod members;
pub mod observed;
pub mod plan;
pub mod preflight;
pub mod removal;
pub mod status;
pub mod up_to_date;
pub mod workload;

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::events::Recorder;
use engine::object::{self, Request};
use engine::{Action, Change, Controller, Descriptor, External, GroupKind, Manager, NamespacedName, Objects, Reconciler, owners};
use k8s_openapi::api::core::v1::{Node, Pod, Secret};
use kube::api::DynamicObject;
use kube::core::ApiResource;
use parking_lot::Mutex;
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::{Cluster, Machine, MachinePool};
use schemas::controlplane::KubeadmControlPlane;

use crate::certificates::{self, Purpose};
use crate::etcd::EtcdClients;
use crate::names::CONTROL_PLANE_ROLE;
use observed::Observed;

/// The component that events name.
const COMPONENT: &str = "kubeadmcontrolplane-controller";

/// The controller of KubeadmControlPlanes.
pub(crate) struct ControlPlaneController {
    manager: Manager,
    control_planes: Objects<KubeadmControlPlane>,
    machines: Objects<Machine>,
    pools: Objects<MachinePool>,
    configs: Objects<KubeadmConfig>,
    clusters: Objects<Cluster>,
    secrets: Objects<Secret>,
    external: External,
    recorder: Recorder,
    etcd: EtcdClients,
    /// What was last applied to a Machine (by UID): applying the same again changes nothing and costs a request.
    applied: Mutex<BTreeMap<String, String>>,
    /// The generation of a control plane (by UID) at which its add-ons were last looked at.
    addons: Mutex<BTreeMap<String, i64>>,
    /// Version of a kubeconfig Secret (by UID) and when its certificate expires.
    kubeconfigs: Mutex<BTreeMap<String, (u64, DateTime<Utc>)>>,
    /// The last event about a control plane (by UID).
    told: Mutex<BTreeMap<String, String>>,
    /// When a Machine's API server (by UID) was last asked for its certificate.
    expiry_asked: Mutex<BTreeMap<String, DateTime<Utc>>>,
}

/// The authorities and keys that are missing.
pub fn missing_certificates(observed: &Observed) -> Vec<Purpose> {
    let config = observed.cluster_configuration();
    certificates::purposes(&config)
        .into_iter()
        .filter(|purpose| !observed.secrets.contains_key(purpose))
        .collect()
}

/// Those of them that the user has to give.
pub fn missing_given_certificates(observed: &Observed) -> Vec<Purpose> {
    let config = observed.cluster_configuration();
    let missing = missing_certificates(observed);
    missing.into_iter().filter(|purpose| certificates::is_given(*purpose, &config)).collect()
}

/// Whether all authorities and keys are there.
pub fn certificates_complete(observed: &Observed) -> bool {
    missing_certificates(observed).is_empty()
}

/// The control planes whose Machines are made from the template that changed: one that waits for its template has no other event.
fn of_template(
    control_planes: &Objects<KubeadmControlPlane>,
) -> impl Fn(&ApiResource, &Change<DynamicObject>) -> Vec<Request> + Send + Sync + 'static {
    let cache = control_planes.cache().clone();
    move |resource, change| {
        if change.old.is_some() && change.new.is_some() {
            return Vec::new();
        }
        let template = change.name();
        let uses = |control_plane: &Arc<KubeadmControlPlane>| {
            let reference = &control_plane.spec.machine_template.spec.infrastructure_ref;
            reference.kind == resource.kind && reference.name == template.name
        };
        let all = cache.in_namespace(&template.namespace);
        all.iter().filter(|it| uses(it)).map(|it| NamespacedName::of(it.as_ref())).collect()
    }
}

/// The controller's row of the table.
pub const CONTROLLER: Descriptor = Descriptor {
    name: "kubeadmcontrolplane",
    reconciles: &[GroupKind::new(KubeadmControlPlane::GROUP, KubeadmControlPlane::KIND)],
    start: |manager, ()| start(manager),
};

/// Starts the controller.
fn start(manager: &Manager) {
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
        applied: Mutex::default(),
        addons: Mutex::default(),
        kubeconfigs: Mutex::default(),
        told: Mutex::default(),
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
    let (of_node, of_pod, of_connection) = (lookup(), lookup(), lookup());
    let controller = controller
        .reconciles(&this.control_planes)
        .watches(&this.machines, move |change| {
            let mut requests =
                if machine_matters(change) { of_machine(&cluster_of_machine(change)) } else { Vec::new() };
            // Its Cluster may be gone.
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
        .reads(&this.configs);
    let queue = controller.queue();
    manager.clusters().notify(&queue, of_connection);
    manager.clusters().watch::<Node>(&queue, move |cluster, change| {
        if node_matters(change) { of_node(cluster) } else { Vec::new() }
    });
    manager.clusters().watch::<Pod>(
        &queue,
        move |cluster, change| {
            if pod_matters(change) { of_pod(cluster) } else { Vec::new() }
        },
    );
    controller.start(this);
}

/// The control plane of a Cluster, if it is one of ours.
fn control_plane_of(cluster: &Cluster) -> Option<Request> {
    let reference = cluster.spec.control_plane_ref.as_ref()?;
    let ours =
        reference.kind == KubeadmControlPlane::KIND && reference.api_group == KubeadmControlPlane::GROUP;
    ours.then(|| {
        NamespacedName::new(cluster.metadata.namespace.clone().unwrap_or_default(), reference.name.as_str())
    })
}

fn cluster_of_machine(change: &Change<Machine>) -> NamespacedName {
    let name = change.objects().last().map(|machine| machine.spec.cluster_name.clone()).unwrap_or_default();
    NamespacedName::new(change.name().namespace, name)
}

/// Every change of a control plane Machine, labelled or owned, and the end of a worker.
fn machine_matters(change: &Change<Machine>) -> bool {
    let is_ours = |machine: &Machine| {
        owners::controller(machine).is_some_and(|owner| owner.kind == KubeadmControlPlane::KIND)
    };
    change.new.is_none()
        || change.objects().any(|machine| {
            object::label(machine.as_ref(), engine::names::CONTROL_PLANE).is_some() || is_ours(machine)
        })
}

fn cluster_requests(change: &Change<Cluster>) -> Vec<Request> {
    let facts = |cluster: &Cluster| {
        (
            cluster.spec.paused,
            cluster.spec.control_plane_ref.clone(),
            cluster.spec.control_plane_endpoint.clone(),
            cluster.spec.topology.as_ref().map(|topology| topology.version.clone()),
            cluster.status.as_ref().map(|status| status.failure_domains.clone()),
            crate::config::plan::infrastructure_provisioned(cluster),
        )
    };
    if change.old.as_deref().map(facts) == change.new.as_deref().map(facts) {
        return Vec::new();
    }
    change.new.as_deref().and_then(control_plane_of).into_iter().collect()
}

/// The cluster of which an authority, key or kubeconfig appeared or went away.
fn secret_cluster(change: &Change<Secret>) -> Option<NamespacedName> {
    if change.old.is_some() && change.new.is_some() {
        return None;
    }
    let secret = change.objects().last()?;
    let cluster = object::label(secret.as_ref(), engine::names::CLUSTER_NAME)?;
    let name = change.name();
    let suffix = name.name.strip_prefix(cluster)?.strip_prefix('-')?;
    let ours = ["ca", "etcd", "sa", "proxy", "apiserver-etcd-client", "kubeconfig"].contains(&suffix);
    ours.then(|| NamespacedName::new(name.namespace, cluster))
}

/// Changes of control plane nodes that a condition depends on.
fn node_matters(change: &Change<Node>) -> bool {
    let facts = |node: &Node| {
        let conditions =
            node.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default();
        let ready = conditions.into_iter().find(|found| found.type_ == "Ready").map(|found| found.status);
        let taints = node.spec.as_ref().and_then(|spec| spec.taints.clone());
        (object::label(node, CONTROL_PLANE_ROLE).is_some(), ready, taints)
    };
    let (old, new) = (change.old.as_deref().map(facts), change.new.as_deref().map(facts));
    let concerns = |facts: &Option<(bool, Option<String>, _)>| facts.as_ref().is_some_and(|facts| facts.0);
    (concerns(&old) || concerns(&new)) && old != new
}

/// Changes of static pods of the control plane that a condition depends on.
fn pod_matters(change: &Change<Pod>) -> bool {
    if change.name().namespace != "kube-system" {
        return false;
    }
    let name = change.name().name;
    let components = ["kube-apiserver-", "kube-controller-manager-", "kube-scheduler-", "etcd-"];
    if !components.iter().any(|component| name.starts_with(component)) {
        return false;
    }
    let facts = |pod: &Pod| {
        let status = pod.status.clone().unwrap_or_default();
        (status.phase, status.conditions, status.container_statuses)
    };
    change.old.as_deref().map(facts) != change.new.as_deref().map(facts)
}

impl Reconciler for ControlPlaneController {
    async fn reconcile(&self, request: Request) -> engine::Result<Action> {
        let Some(control_plane) = self.control_planes.get(&request) else {
            return Ok(Action::done());
        };
        self.reconcile_control_plane(control_plane).await.map_err(crate::Error::into_engine)
    }
}
