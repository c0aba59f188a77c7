//! The KubeadmConfig controller: it creates the bootstrap data of a Machine or a MachinePool.

mod apply;
pub mod cluster_info;
mod controller;
mod data_secret;
mod inputs;
mod lock;
mod observe;
pub mod observed;
pub mod owner;
pub mod plan;
pub mod render;
mod sources;
pub mod token;
mod tokens;
pub mod v1beta1;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::controller::requests_of;
use engine::object::{self, Request};
use engine::{
    Change, Controller, Descriptor, Error, Frame, GroupKind, Manager, Membership, NamespacedName, Objects,
    Outcome, Planned, conditions,
};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use schemas::HasConditions;
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::{Bootstrap, Cluster, Machine, MachinePool};

use crate::certificates::Purpose;
use crate::names::condition;
use controller::ConfigController;
use observed::Observed;
use plan::Plan;

/// As upstream: configurations whose workload clusters are silent must not hold up the others.
const CONCURRENCY: usize = 100;
/// Index of KubeadmConfigs by the Secrets that their files and users reference, and by the one that they create.
const BY_SECRET: &str = "secret";

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor = Descriptor {
    name: "kubeadmconfig",
    reconciles: &[GroupKind::new(KubeadmConfig::GROUP, KubeadmConfig::KIND)],
    start: |manager, ()| start(manager),
};

/// Starts the KubeadmConfig controller.
fn start(manager: &Manager) {
    let this = ConfigController::new(manager);
    let by_cluster = |configs: &Objects<KubeadmConfig>| {
        let configs = configs.cache().clone();
        move |cluster: &NamespacedName| -> Vec<Request> {
            let all = configs.by_cluster(cluster);
            requests_of(&all)
        }
    };
    let (of_cluster, of_lock) = (by_cluster(&this.configs), by_cluster(&this.configs));
    let (of_secret, of_connection) = (by_cluster(&this.configs), by_cluster(&this.configs));
    this.configs.index(BY_SECRET, named_secrets);
    let naming = this.configs.cache().clone();
    let controller =
        Controller::new(manager, CONTROLLER.name)
            .reconciles(&this.configs)
            .concurrency(CONCURRENCY)
            .watches(&this.owners.machines, machine_requests)
            .watches(&this.owners.pools, pool_requests)
            .watches(&this.owners.clusters, move |change| {
                if matters(change) { of_cluster(&change.name()) } else { Vec::new() }
            })
            .watches(&manager.objects::<ConfigMap>(), move |change| {
                lock_cluster(change).map(|cluster| of_lock(&cluster)).unwrap_or_default()
            })
            .watches(&this.secrets.objects, move |change| {
                let name = change.name();
                let users = naming.by_index(BY_SECRET, &format!("{}/{}", name.namespace, name.name));
                let users = users.iter().map(|config| NamespacedName::of(config.as_ref()));
                let cluster = certificate_cluster(change);
                users.chain(cluster.iter().flat_map(&of_secret)).collect()
            });
    manager.clusters().notify(&controller.queue(), of_connection);
    controller.start(Frame::new(this));
}

/// Returns the Secrets on which a KubeadmConfig whose bootstrap data do not exist yet depends: those that it references, and its own, whose
/// name may be taken.
fn named_secrets(config: &KubeadmConfig) -> Vec<String> {
    let status = config.status.as_ref().and_then(|status| status.initialization.as_ref());
    if status.is_some_and(|status| status.data_secret_created == Some(true)) {
        return Vec::new();
    }
    let namespace = config.metadata.namespace.as_deref().unwrap_or_default();
    let files = config.spec.files.iter().filter_map(|file| file.content_from.as_ref());
    let users = config.spec.users.iter().filter_map(|user| user.passwd_from.as_ref());
    let files = files.map(|source| source.secret.name.as_str());
    let names = files.chain(users.map(|source| source.secret.name.as_str()));
    names.chain(config.metadata.name.as_deref()).map(|name| format!("{namespace}/{name}")).collect()
}

/// Requests a Machine's KubeadmConfig if a field of the Machine changed that the plan depends on.
fn machine_requests(change: &Change<Machine>) -> Vec<Request> {
    let facts = |machine: &Machine| {
        (
            machine.spec.version.clone(),
            machine.spec.bootstrap.data_secret_name.clone(),
            machine.status.as_ref().is_some_and(|status| status.node_ref.is_some()),
            object::is_deleting(machine),
        )
    };
    if change.old.as_deref().map(facts) == change.new.as_deref().map(facts) {
        return Vec::new();
    }
    let machine = change.objects().last();
    machine.and_then(|machine| config_of(&change.name(), &machine.spec.bootstrap)).into_iter().collect()
}

/// Requests a MachinePool's KubeadmConfig if a field of the MachinePool changed that the plan depends on.
fn pool_requests(change: &Change<MachinePool>) -> Vec<Request> {
    let facts = |pool: &MachinePool| {
        (
            pool.spec.template.spec.version.clone(),
            pool.spec.template.spec.bootstrap.clone(),
            pool.spec.replicas,
            pool.status.as_ref().map(|status| status.node_refs.len()),
            object::is_deleting(pool),
        )
    };
    if change.old.as_deref().map(facts) == change.new.as_deref().map(facts) {
        return Vec::new();
    }
    let pool = change.objects().last();
    let bootstrap = pool.map(|pool| &pool.spec.template.spec.bootstrap);
    bootstrap.and_then(|bootstrap| config_of(&change.name(), bootstrap)).into_iter().collect()
}

/// Returns the KubeadmConfig that a Machine or MachinePool refers to.
fn config_of(owner: &NamespacedName, bootstrap: &Bootstrap) -> Option<Request> {
    let config = bootstrap.config_ref.as_ref()?;
    let is_ours = config.kind == KubeadmConfig::KIND && config.api_group == KubeadmConfig::GROUP;
    is_ours.then(|| NamespacedName::new(owner.namespace.as_str(), config.name.as_str()))
}

/// Returns whether a Cluster changed in a field that the plans of its KubeadmConfigs depend on.
fn matters(change: &Change<Cluster>) -> bool {
    let facts = |cluster: &Cluster| {
        (
            cluster.spec.paused,
            cluster.spec.control_plane_endpoint.clone(),
            engine::initialization::has_infrastructure(cluster),
            cluster.condition_is_true("ControlPlaneInitialized"),
        )
    };
    change.old.as_deref().map(facts) != change.new.as_deref().map(facts)
}

/// Returns the cluster whose init lock was deleted.
fn lock_cluster(change: &Change<ConfigMap>) -> Option<NamespacedName> {
    if change.new.is_some() {
        return None;
    }
    let name = change.name();
    Some(NamespacedName::new(name.namespace, name.name.strip_suffix("-lock")?))
}

/// Returns the cluster for which an authority or key was created or changed.
fn certificate_cluster(change: &Change<Secret>) -> Option<NamespacedName> {
    let data = |secret: &Arc<Secret>| secret.data.clone();
    let secret = change.new.as_ref().filter(|new| change.old.as_ref().map(data) != Some(data(new)))?;
    let cluster = object::label(secret.as_ref(), engine::names::CLUSTER_NAME)?;
    let name = change.name();
    let all = [
        Purpose::ClusterAuthority,
        Purpose::ServiceAccount,
        Purpose::FrontProxyAuthority,
        Purpose::EtcdAuthority,
        Purpose::EtcdClient,
    ];
    let is_one = all.iter().any(|purpose| purpose.secret_name(cluster) == name.name);
    is_one.then(|| NamespacedName::new(name.namespace, cluster))
}

/// The conditions of a KubeadmConfig that only this controller writes.
const OWNED: &[&str] = &[
    condition::READY,
    condition::DATA_SECRET_AVAILABLE,
    condition::CERTIFICATES_AVAILABLE,
    condition::PAUSED,
];

impl Planned for ConfigController {
    type Object = KubeadmConfig;
    type Observed = Observed;
    type Plan = Plan;

    /// No finalizer is needed, because the garbage collector deletes the Secret with its owner.
    const FINALIZER: Option<&'static str> = None;
    const OWNED: &'static [&'static str] = OWNED;
    const DEBOUNCES_MESSAGES: bool = true;

    fn objects(&self) -> &Objects<KubeadmConfig> {
        &self.configs
    }

    fn manager(&self) -> &Manager {
        &self.manager
    }

    fn cluster(&self, config: &Arc<KubeadmConfig>) -> Membership {
        if object::is_deleting(config.as_ref()) {
            return Membership::Waits;
        }
        let owner = self.owners.of(config);
        owner.and_then(|owner| self.owners.cluster(&owner)).map_or(Membership::Waits, Membership::Of)
    }

    async fn forget(&self, request: &Request) {
        self.tokens.forget(request);
    }

    async fn observe(
        &self,
        config: Arc<KubeadmConfig>,
        _: Option<Arc<Cluster>>,
    ) -> engine::Result<Option<Observed>> {
        observe::observe(self, &config).await.map(Some).map_err(crate::Error::into_engine)
    }

    fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
        plan::plan(observed, now)
    }

    async fn apply(&self, observed: &Observed, plan: Plan) -> Outcome<KubeadmConfig> {
        self.execute(observed, plan).await
    }

    fn report(config: &mut KubeadmConfig, errors: &[&Error], now: DateTime<Utc>) {
        let text = Error::joined(errors);
        let failed = conditions::is_false(condition::DATA_SECRET_AVAILABLE, "NotAvailable", text);
        conditions::set(config, now, failed);
        let ready = plan::ready(config.conditions());
        conditions::set(config, now, ready);
        v1beta1::set(config, now);
    }

    fn observed_generation(config: &mut KubeadmConfig) -> Option<&mut Option<i64>> {
        Some(&mut config.status.get_or_insert_default().observed_generation)
    }
}
