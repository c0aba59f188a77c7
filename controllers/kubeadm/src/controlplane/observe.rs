//! Reads the state that a KubeadmControlPlane's plan depends on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::etcd::Member;
use engine::events::Recorder;
use engine::in_place::{Decisions, SharedUpdater};
use engine::names as shared;
use engine::{
    Applied, External, ExternalObject, Manager, NamespacedName, Objects, Scope, Workload, object, owners,
};
use k8s_openapi::api::core::v1::{Node, Pod, Secret};
use kube::api::DynamicObject;
use parking_lot::Mutex;
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::{Cluster, Machine, MachinePool};
use schemas::controlplane::KubeadmControlPlane;

use super::addons::{self, Addons};
use super::observed::{ControlPlaneMachine, Kubeconfig, Observed, Template, View, is_ready};
use super::{desired, etcd_members, outdated, remediation::candidates, removal};
use crate::certificates::{self, Purpose};
use crate::checks::Checks;
use crate::error::Result;
use crate::etcd::{self, Credentials, Etcd, EtcdClients};
use crate::owned;

/// Returns the scope of the static Pods of a control plane. kubeadm gives them this label.
pub(super) fn static_pods() -> Scope {
    Scope::namespace("kube-system").labels("tier=control-plane")
}

/// The controller of KubeadmControlPlanes.
pub(super) struct ControlPlaneController {
    pub manager: Manager,
    pub control_planes: Objects<KubeadmControlPlane>,
    pub machines: Objects<Machine>,
    pub pools: Objects<MachinePool>,
    pub configs: Objects<KubeadmConfig>,
    pub clusters: Objects<Cluster>,
    pub secrets: Objects<Secret>,
    pub external: External,
    pub recorder: Recorder,
    pub etcd: EtcdClients,
    /// The configurations last applied to the Machines and their objects, to save requests that would change nothing.
    pub applied: Applied,
    /// What was found out about the Secrets with authorities and keys.
    pub checks: Checks,
    /// Version of each kubeconfig Secret (by UID), and when its certificate expires.
    pub kubeconfigs: Mutex<BTreeMap<String, (u64, DateTime<Utc>)>>,
    /// The last event recorded about each control plane (by UID).
    pub recorded_events: Mutex<BTreeMap<String, String>>,
    pub updater: SharedUpdater,
    /// By UID of the Machine, and generation of the control plane.
    pub decisions: Decisions<(String, Option<i64>)>,
    /// The time at which the API server of each Machine (by UID) was last asked for its certificate.
    pub expiry_asked: Mutex<BTreeMap<String, DateTime<Utc>>>,
}

impl ControlPlaneController {
    /// Returns the Cluster that owns a control plane.
    pub(super) fn cluster_of(&self, control_plane: &KubeadmControlPlane) -> Option<Arc<Cluster>> {
        self.clusters.get(&owners::named::<Cluster>(control_plane)?)
    }

    /// Reads the state on which the plan depends.
    pub(super) async fn read(
        &self,
        control_plane: &Arc<KubeadmControlPlane>,
        cluster: &Arc<Cluster>,
    ) -> Result<Observed> {
        let name = NamespacedName::of(cluster.as_ref());
        let mut observed = Observed {
            control_plane: control_plane.clone(),
            cluster: cluster.clone(),
            machines: Vec::new(),
            orphans: Vec::new(),
            foreign: Vec::new(),
            leftovers: Vec::new(),
            workers: self.workers(&name, object::uid(control_plane.as_ref())),
            secrets: BTreeMap::new(),
            keyless: BTreeSet::new(),
            unusable: Vec::new(),
            valid_from: None,
            kubeconfig: self.kubeconfig_state(control_plane, &name),
            template: self.template_state(control_plane, cluster).await?,
            health: self.manager.clusters().health(&name),
            workload: None,
            error: None,
            updates_in_place: self.manager.features().in_place_updates,
            decisions: BTreeMap::new(),
        };
        self.read_machines(&mut observed, &name).await?;
        self.read_decisions(&mut observed);
        let config = observed.cluster_configuration();
        let owner = owners::controller_reference(control_plane.as_ref(), &());
        for purpose in certificates::purposes(&config) {
            let secret = NamespacedName::new(name.namespace.as_str(), purpose.secret_name(&name.name));
            if let Some(secret) = self.secrets.get(&secret) {
                let ours = secret.type_.as_deref() != Some(shared::SECRET_TYPE)
                    || owned::is_current(secret.as_ref(), &owner);
                observed.secrets.insert(purpose, ours);
                if certificates::text(&secret, certificates::PRIVATE_KEY).is_none()
                    && !certificates::needs_key(purpose)
                {
                    observed.keyless.insert(purpose);
                }
                let (checked, now) = (self.checks.of(&secret, purpose), self.manager.clock().now());
                observed.unusable.extend(checked.problem(&purpose.secret_name(&name.name), now));
                observed.valid_from = checked.valid_from(now).into_iter().chain(observed.valid_from).min();
            }
        }
        if let Ok(connected) = self.manager.clusters().get(&name) {
            match self.view(&observed, &connected).await {
                Ok(view) => observed.workload = Some(view),
                Err(error) => observed.error = Some(error.to_string()),
            }
        }
        Ok(observed)
    }

    /// Returns the names of the cluster's worker Machines and MachinePools.
    fn workers(&self, cluster: &NamespacedName, uid: &str) -> Vec<String> {
        let machines = self.machines.by_cluster(cluster);
        let workers = machines
            .iter()
            .filter(|machine| object::label(machine.as_ref(), shared::CONTROL_PLANE).is_none())
            .filter(|machine| !owners::is_controlled_by(machine.as_ref(), uid))
            .map(|machine| format!("Machine {}", NamespacedName::of(machine.as_ref()).name));
        let pools = self.pools.by_cluster(cluster);
        let pools =
            pools.iter().map(|pool| format!("MachinePool {}", NamespacedName::of(pool.as_ref()).name));
        workers.chain(pools).collect()
    }

    async fn read_machines(&self, observed: &mut Observed, cluster: &NamespacedName) -> Result<()> {
        let control_plane = observed.control_plane.clone();
        let uid = object::uid(control_plane.as_ref());
        let infrastructure = self.infrastructure(&control_plane).await.ok();
        let mut parts: Vec<String> = self
            .configs
            .by_owner(uid)
            .iter()
            .map(|config| NamespacedName::of(config.as_ref()).name)
            .collect();
        let cloned = infrastructure.as_ref().map(|objects| objects.by_owner(uid)).unwrap_or_default();
        parts.extend(cloned.iter().map(|object| NamespacedName::of(object.as_ref()).name));
        parts.retain(|name| {
            self.machines.get(&NamespacedName::new(cluster.namespace.as_str(), name.as_str())).is_none()
        });
        parts.sort();
        parts.dedup();
        observed.leftovers = parts;
        for machine in self.machines.by_cluster(cluster) {
            // A Machine of this control plane still counts if its label is removed; otherwise its etcd member
            // would count as stray.
            if !owners::is_controlled_by(machine.as_ref(), uid) {
                let name = NamespacedName::of(machine.as_ref()).name;
                match owners::controller(machine.as_ref()) {
                    _ if object::label(machine.as_ref(), shared::CONTROL_PLANE).is_none() => {}
                    None => observed.orphans.push(machine.clone()),
                    Some(owner) => {
                        observed.foreign.push(format!("{name} (of {} {})", owner.kind, owner.name));
                    }
                }
                continue;
            }
            let named = |name: &str| NamespacedName::new(cluster.namespace.as_str(), name);
            let config = machine.spec.bootstrap.config_ref.as_ref();
            let config = config.and_then(|config| self.configs.get(&named(&config.name)));
            let object = infrastructure
                .as_ref()
                .and_then(|objects| objects.get(&named(&machine.spec.infrastructure_ref.name)));
            let cloned_from = object.map(|object| {
                let text =
                    |key: &str| object::annotation(object.as_ref(), key).unwrap_or_default().to_owned();
                (text(shared::CLONED_FROM_NAME), text(shared::CLONED_FROM_GROUP_KIND))
            });
            observed.machines.push(ControlPlaneMachine { machine, config, cloned_from });
        }
        Ok(())
    }

    /// Returns the synced handle on the infrastructure of the Machines.
    pub(super) async fn infrastructure(
        &self,
        control_plane: &KubeadmControlPlane,
    ) -> Result<Objects<DynamicObject>> {
        let group = &control_plane.spec.machine_template.spec.infrastructure_ref.api_group;
        Ok(self.external.objects(group, desired::infrastructure_kind(control_plane)).await?.0)
    }

    /// Returns the infrastructure template, or `None` if it does not exist.
    pub(super) async fn template(
        &self,
        control_plane: &KubeadmControlPlane,
    ) -> Result<Option<ExternalObject>> {
        let reference = &control_plane.spec.machine_template.spec.infrastructure_ref;
        let namespace = control_plane.metadata.namespace.as_deref().unwrap_or_default();
        Ok(self.external.get(namespace, reference).await?)
    }

    async fn template_state(
        &self,
        control_plane: &KubeadmControlPlane,
        cluster: &Cluster,
    ) -> Result<Template> {
        if object::is_deleting(control_plane) {
            return Ok(Template::Missing);
        }
        let owner = owners::reference(cluster, &());
        let found = self.template(control_plane).await;
        if let Err(error) = &found {
            // If its CustomResourceDefinition is missing, the template is missing, too.
            tracing::debug!(%error, "the infrastructure template can't be read");
        }
        Ok(match found.unwrap_or_default() {
            None => Template::Missing,
            Some(template) if owned::is_current(template.object.as_ref(), &owner) => Template::Owned,
            Some(_) => Template::Unowned,
        })
    }

    fn kubeconfig_state(&self, control_plane: &KubeadmControlPlane, cluster: &NamespacedName) -> Kubeconfig {
        let Some(secret) = self.secrets.get(&engine::clusters::kubeconfig_secret(cluster)) else {
            return Kubeconfig::Missing;
        };
        let owner = owners::controller_reference(control_plane, &());
        if !owned::is_current(secret.as_ref(), &owner) {
            let is_free = owners::controller(secret.as_ref()).is_none_or(|present| present.uid == owner.uid);
            let ours = secret.type_.as_deref() == Some(shared::SECRET_TYPE) && is_free;
            return if ours { Kubeconfig::Unowned } else { Kubeconfig::Given };
        }
        match self.kubeconfig_expiry(&secret) {
            Some(expires) => Kubeconfig::Ours(expires),
            None => Kubeconfig::Broken,
        }
    }

    /// Returns when the certificate in a kubeconfig Secret expires; it is parsed once for each version of the
    /// Secret.
    fn kubeconfig_expiry(&self, secret: &Secret) -> Option<chrono::DateTime<chrono::Utc>> {
        let version = (object::uid(secret).to_owned(), object::version(secret));
        let mut known = self.kubeconfigs.lock();
        if let Some((_, expires)) = known.get(&version.0).filter(|(known, _)| *known == version.1) {
            return Some(*expires);
        }
        let text = certificates::text(secret, "value")?;
        let config = pki::kubeconfig::Kubeconfig::parse(&text).ok()?;
        let facts = pki::inspect(&config.credentials.identity?.certificate).ok()?;
        // A certificate that is not valid yet, issued while the clock was ahead, counts as expired.
        let early = facts.not_before > self.manager.clock().now();
        let expires = if early { chrono::DateTime::UNIX_EPOCH } else { facts.not_after };
        known.insert(version.0, (version.1, expires));
        Some(expires)
    }

    async fn view(&self, observed: &Observed, connected: &Arc<Workload>) -> Result<View> {
        let named = |name: Option<String>| name.unwrap_or_default();
        let nodes = connected.objects::<Node>().all();
        let pods = connected.objects_in::<Pod>(&static_pods()).all();
        let deleting = object::is_deleting(observed.control_plane.as_ref());
        let addons = Addons::read(connected);
        let is_ready = addons.kubeadm_config.is_some()
            && !observed.machines.is_empty()
            && !deleting
            && !candidates::replaces_all(observed);
        let mut view = View {
            initialized: observed.was_initialized() || is_ready,
            addons,
            nodes: nodes.into_iter().map(|node| (named(node.metadata.name.clone()), node)).collect(),
            pods: pods.into_iter().map(|pod| (named(pod.metadata.name.clone()), pod)).collect(),
            etcd: None,
        };
        let now = self.manager.clock().now();
        let is_outdated = |member| !outdated::reasons(observed, member, now).is_empty();
        if view.initialized && !deleting && observed.machines.iter().any(is_outdated) {
            view.addons.missing_bindings =
                addons::upgrade::missing_bindings(connected, &observed.control_plane).await;
        }
        if view.initialized && observed.is_etcd_managed() && !deleting {
            view.etcd = self.read_etcd(observed, &view, connected).await;
        }
        Ok(view)
    }

    async fn read_etcd(
        &self,
        observed: &Observed,
        view: &View,
        connected: &Workload,
    ) -> Option<Result<Etcd, String>> {
        let pods = etcd_pods(observed, view);
        if pods.is_empty() {
            return None;
        }
        let credentials = match self.etcd_credentials(connected.cluster()) {
            Ok(credentials) => credentials,
            Err(error) => return Some(Err(error.to_string())),
        };
        let read = self.read_members(observed, view, connected, &credentials, &pods).await;
        Some(read.map_err(|error| {
            tracing::debug!(cluster = %connected.cluster(), %error, "etcd can't be read");
            error.to_string()
        }))
    }

    async fn read_members(
        &self,
        observed: &Observed,
        view: &View,
        connected: &Workload,
        credentials: &Credentials,
        pods: &[String],
    ) -> Result<Etcd> {
        let mut etcd = self.etcd.read(&self.manager, connected, credentials, pods).await?;
        if removal::must_ask_members(observed, &etcd) {
            // A request to a Node that is cut off would only run into its time limit.
            let (lost, asked): (Vec<Member>, Vec<Member>) =
                etcd.members.iter().cloned().partition(|member| etcd_members::is_cut_off(view, &member.name));
            etcd.silent = self.etcd.silent(&self.manager, connected, credentials, &asked).await?;
            etcd.silent.extend(lost.iter().map(|member| member.id));
        }
        Ok(etcd)
    }

    /// Returns what a client of the cluster's etcd needs. Without the authority's key, it is the certificate of
    /// the API server, which a user provides.
    pub(super) fn etcd_credentials(&self, cluster: &NamespacedName) -> Result<Credentials> {
        let authority = self.authority(cluster, Purpose::EtcdAuthority)?;
        let client = match authority.key.is_empty() {
            true => Some(self.authority(cluster, Purpose::EtcdClient)?),
            false => None,
        };
        Ok(Credentials { authority, client })
    }

    /// Returns certificate and key of one of the cluster's Secrets; the key of an authority may be empty.
    pub(super) fn authority(&self, cluster: &NamespacedName, purpose: Purpose) -> Result<pki::Identity> {
        let name = NamespacedName::new(cluster.namespace.as_str(), purpose.secret_name(&cluster.name));
        let secret = self.secrets.get(&name);
        let secret = secret.ok_or_else(|| engine::Error::failed(format!("Secret {name} does not exist")))?;
        certificates::identity(&secret, certificates::needs_key(purpose))
    }
}

/// Returns the ready etcd Pods of the control plane's Machines; those of Machines in deletion come last.
pub(super) fn etcd_pods(observed: &Observed, view: &View) -> Vec<String> {
    let mut members: Vec<&ControlPlaneMachine> = observed.machines.iter().collect();
    members.sort_by_key(|member| member.is_deleting());
    members
        .iter()
        .filter_map(|member| member.node())
        .map(etcd::pod_name)
        .filter(|pod| view.pods.get(pod).is_some_and(|pod| is_ready(pod)))
        .collect()
}
