//! Reads the state that a KubeadmControlPlane's plan depends on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::names as shared;
use engine::{NamespacedName, Objects, Scope, Workload, object, owners};
use k8s_openapi::api::core::v1::{Node, Pod};
use schemas::cluster::{Cluster, Machine, MachinePool};
use schemas::controlplane::KubeadmControlPlane;

use super::addons::{self, Addons};
use super::controller::ControlPlaneController;
use super::etcd_access::EtcdAccess;
use super::machine_parts::MachineParts;
use super::observed::{ControlPlaneMachine, Observed, Template, View};
use super::{outdated, remediation::candidates};
use crate::certificates;
use crate::cluster_secrets::ClusterSecrets;
use crate::owned;

/// Returns the scope of the static Pods of a control plane. kubeadm gives them this label.
pub(super) fn static_pods() -> Scope {
    Scope::namespace("kube-system").labels("tier=control-plane")
}

/// Reads the state on which the plan depends.
pub(super) async fn observe(
    this: &ControlPlaneController,
    control_plane: &Arc<KubeadmControlPlane>,
    cluster: &Arc<Cluster>,
) -> Observed {
    let (manager, parts) = (&this.manager, &this.parts);
    let name = NamespacedName::of(cluster.as_ref());
    let mut observed = Observed {
        control_plane: control_plane.clone(),
        cluster: cluster.clone(),
        machines: Vec::new(),
        orphans: Vec::new(),
        foreign: Vec::new(),
        leftovers: Vec::new(),
        workers: workers(&parts.machines, &this.pools, &name, object::uid(control_plane.as_ref())),
        secrets: BTreeMap::new(),
        keyless: BTreeSet::new(),
        unusable: Vec::new(),
        valid_from: None,
        kubeconfig: this.kubeconfigs.state(control_plane, &name),
        template: template(parts, control_plane, cluster).await,
        health: manager.clusters().health(&name),
        workload: None,
        updates_in_place: manager.features().in_place_updates,
        decisions: BTreeMap::new(),
    };
    read_machines(parts, &mut observed, &name).await;
    this.updates.read_decisions(&mut observed);
    read_secrets(&this.secrets, &mut observed, &name, manager.clock().now());
    if let Ok(connected) = manager.clusters().get(&name) {
        observed.workload = Some(view(&this.etcd, &observed, &connected, manager.clock().now()).await);
    }
    observed
}

/// Reads the Secrets with authorities and keys.
fn read_secrets(
    secrets: &ClusterSecrets,
    observed: &mut Observed,
    cluster: &NamespacedName,
    now: DateTime<Utc>,
) {
    let owner = owners::controller_reference(observed.control_plane.as_ref(), &());
    for purpose in certificates::purposes(&observed.cluster_configuration()) {
        let Some(secret) = secrets.get(cluster, purpose) else { continue };
        let ours = secret.type_.as_deref() != Some(shared::SECRET_TYPE)
            || owned::is_current(secret.as_ref(), &owner);
        observed.secrets.insert(purpose, ours);
        let is_keyless = certificates::text(&secret, certificates::PRIVATE_KEY).is_none();
        if is_keyless && !certificates::needs_key(purpose) {
            observed.keyless.insert(purpose);
        }
        let checked = secrets.checked(&secret, purpose);
        observed.unusable.extend(checked.problem(&purpose.secret_name(&cluster.name), now));
        observed.valid_from = checked.valid_from(now).into_iter().chain(observed.valid_from).min();
    }
}

/// Returns the names of the cluster's worker Machines and MachinePools.
fn workers(
    machines: &Objects<Machine>,
    pools: &Objects<MachinePool>,
    cluster: &NamespacedName,
    uid: &str,
) -> Vec<String> {
    let machines = machines.by_cluster(cluster);
    let workers = machines
        .iter()
        .filter(|machine| object::label(machine.as_ref(), shared::CONTROL_PLANE).is_none())
        .filter(|machine| !owners::is_controlled_by(machine.as_ref(), uid))
        .map(|machine| format!("Machine {}", NamespacedName::of(machine.as_ref()).name));
    let pools = pools.by_cluster(cluster);
    let pools = pools.iter().map(|pool| format!("MachinePool {}", NamespacedName::of(pool.as_ref()).name));
    workers.chain(pools).collect()
}

async fn read_machines(parts: &MachineParts, observed: &mut Observed, cluster: &NamespacedName) {
    let control_plane = observed.control_plane.clone();
    let uid = object::uid(control_plane.as_ref());
    let infrastructure = parts.infrastructure(&control_plane).await.ok();
    let mut leftovers: Vec<String> =
        parts.configs.by_owner(uid).iter().map(|config| NamespacedName::of(config.as_ref()).name).collect();
    let cloned = infrastructure.as_ref().map(|objects| objects.by_owner(uid)).unwrap_or_default();
    leftovers.extend(cloned.iter().map(|object| NamespacedName::of(object.as_ref()).name));
    leftovers.retain(|name| {
        parts.machines.get(&NamespacedName::new(cluster.namespace.as_str(), name.as_str())).is_none()
    });
    leftovers.sort();
    leftovers.dedup();
    observed.leftovers = leftovers;
    for machine in parts.machines.by_cluster(cluster) {
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
        let config = config.and_then(|config| parts.configs.get(&named(&config.name)));
        let object = infrastructure
            .as_ref()
            .and_then(|objects| objects.get(&named(&machine.spec.infrastructure_ref.name)));
        let cloned_from = object.map(|object| {
            let text = |key: &str| object::annotation(object.as_ref(), key).unwrap_or_default().to_owned();
            (text(shared::CLONED_FROM_NAME), text(shared::CLONED_FROM_GROUP_KIND))
        });
        observed.machines.push(ControlPlaneMachine { machine, config, cloned_from });
    }
}

async fn template(parts: &MachineParts, control_plane: &KubeadmControlPlane, cluster: &Cluster) -> Template {
    if object::is_deleting(control_plane) {
        return Template::Missing;
    }
    let owner = owners::reference(cluster, &());
    let found = parts.template(control_plane).await;
    if let Err(error) = &found {
        // If its CustomResourceDefinition is missing, the template is missing, too.
        tracing::debug!(%error, "the infrastructure template can't be read");
    }
    match found.unwrap_or_default() {
        None => Template::Missing,
        Some(template) if owned::is_current(template.object.as_ref(), &owner) => Template::Owned,
        Some(_) => Template::Unowned,
    }
}

async fn view(etcd: &EtcdAccess, observed: &Observed, connected: &Arc<Workload>, now: DateTime<Utc>) -> View {
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
    let is_outdated = |member| !outdated::reasons(observed, member, now).is_empty();
    if view.initialized && !deleting && observed.machines.iter().any(is_outdated) {
        view.addons.missing_bindings =
            addons::upgrade::missing_bindings(connected, &observed.control_plane).await;
    }
    if view.initialized && observed.is_etcd_managed() && !deleting {
        view.etcd = etcd.read(observed, &view, connected).await;
    }
    view
}
