//! KubeadmConfig: bootstrap data for one Machine.

mod apply;
mod gather;
pub mod plan;
pub mod render;
pub mod token;

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use engine::object::{self, Request};
use engine::{Action, Change, Controller, Descriptor, GroupKind, Manager, NamespacedName, Objects, Reconciler};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use parking_lot::Mutex;
use schemas::HasConditions;
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::{Cluster, Machine};

use crate::certificates::Purpose;

/// The index of KubeadmConfigs by the Secrets that their files and users name.
const BY_SECRET: &str = "secret";

/// The controller of KubeadmConfigs.
pub(crate) struct ConfigController {
    manager: Manager,
    configs: Objects<KubeadmConfig>,
    machines: Objects<Machine>,
    clusters: Objects<Cluster>,
    secrets: Objects<Secret>,
    config_maps: Objects<ConfigMap>,
    /// When the token of a KubeadmConfig (by UID) was last known to expire.
    tokens: Mutex<BTreeMap<String, DateTime<Utc>>>,
}

/// The controller's row of the table.
pub const CONTROLLER: Descriptor = Descriptor {
    name: "kubeadmconfig",
    reconciles: &[GroupKind::new(KubeadmConfig::GROUP, KubeadmConfig::KIND)],
    start: |manager, ()| start(manager),
};

/// Starts the controller.
fn start(manager: &Manager) {
    let this = ConfigController {
        manager: manager.clone(),
        configs: manager.objects(),
        machines: manager.objects(),
        clusters: manager.objects(),
        secrets: manager.objects(),
        config_maps: manager.objects(),
        tokens: Mutex::default(),
    };
    let by_cluster = |configs: &Objects<KubeadmConfig>| {
        let configs = configs.cache().clone();
        move |cluster: &NamespacedName| -> Vec<Request> {
            let all = configs.by_cluster(cluster);
            all.iter().map(|config| NamespacedName::of(config.as_ref())).collect()
        }
    };
    let (of_cluster, of_lock) = (by_cluster(&this.configs), by_cluster(&this.configs));
    let (of_secret, of_connection) = (by_cluster(&this.configs), by_cluster(&this.configs));
    this.configs.index(BY_SECRET, named_secrets);
    let naming = this.configs.cache().clone();
    let controller = Controller::new(manager, CONTROLLER.name)
        .reconciles(&this.configs)
        .watches(&this.machines, machine_requests)
        .watches(
            &this.clusters,
            move |change| {
                if matters(change) { of_cluster(&change.name()) } else { Vec::new() }
            },
        )
        .watches(&this.config_maps, move |change| {
            lock_cluster(change).map(|cluster| of_lock(&cluster)).unwrap_or_default()
        })
        .watches(&this.secrets, move |change| {
            let name = change.name();
            let users = naming.by_index(BY_SECRET, &format!("{}/{}", name.namespace, name.name));
            let users = users.iter().map(|config| NamespacedName::of(config.as_ref()));
            let cluster = certificate_cluster(change);
            users.chain(cluster.iter().flat_map(&of_secret)).collect()
        });
    manager.clusters().notify(&controller.queue(), of_connection);
    controller.start(this);
}

/// The Secrets that bootstrap data are still to be made from.
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
    names.map(|name| format!("{namespace}/{name}")).collect()
}

/// A Machine's KubeadmConfig, when something that matters to it changed.
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
    let Some(machine) = change.objects().last() else { return Vec::new() };
    let config = machine.spec.bootstrap.config_ref.as_ref();
    let config =
        config.filter(|config| config.kind == "KubeadmConfig" && config.api_group == KubeadmConfig::GROUP);
    config
        .map(|config| NamespacedName::new(change.name().namespace, config.name.as_str()))
        .into_iter()
        .collect()
}

/// Whether a Cluster's change lets its KubeadmConfigs go on.
fn matters(change: &Change<Cluster>) -> bool {
    let facts = |cluster: &Cluster| {
        (
            cluster.spec.paused,
            cluster.spec.control_plane_endpoint.clone(),
            plan::infrastructure_provisioned(cluster),
            cluster.condition_is_true("ControlPlaneInitialized"),
        )
    };
    change.old.as_deref().map(facts) != change.new.as_deref().map(facts)
}

/// The cluster whose init lock went away.
fn lock_cluster(change: &Change<ConfigMap>) -> Option<NamespacedName> {
    if change.new.is_some() {
        return None;
    }
    let name = change.name();
    Some(NamespacedName::new(name.namespace, name.name.strip_suffix("-lock")?))
}

/// The cluster of which an authority or key appeared.
fn certificate_cluster(change: &Change<Secret>) -> Option<NamespacedName> {
    let secret = change.new.as_ref().filter(|_| change.old.is_none())?;
    let cluster = object::label(secret.as_ref(), engine::names::CLUSTER_NAME)?;
    let name = change.name();
    let all = [
        Purpose::ClusterAuthority,
        Purpose::ServiceAccount,
        Purpose::FrontProxyAuthority,
        Purpose::EtcdAuthority,
    ];
    let is_one = all.iter().any(|purpose| purpose.secret_name(cluster) == name.name);
    is_one.then(|| NamespacedName::new(name.namespace, cluster))
}

impl Reconciler for ConfigController {
    async fn reconcile(&self, request: Request) -> engine::Result<Action> {
        let Some(config) = self.configs.get(&request) else {
            return Ok(Action::done());
        };
        if object::is_deleting(config.as_ref()) {
            self.tokens.lock().remove(object::uid(config.as_ref()));
            return Ok(Action::done());
        }
        self.reconcile_config(config).await.map_err(crate::Error::into_engine)
    }
}
