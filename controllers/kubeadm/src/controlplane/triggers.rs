//! Maps a change of another object to the control planes that it affects.

use std::sync::Arc;

use engine::controller::requests_of;
use engine::object::{self, Request};
use engine::{Change, NamespacedName, Objects, owners};
use k8s_openapi::api::core::v1::{Node, Pod, Secret};
use kube::api::DynamicObject;
use kube::core::ApiResource;
use schemas::cluster::{Cluster, Machine};
use schemas::controlplane::KubeadmControlPlane;

use super::preflight::UPGRADE_STEP;
use crate::names::CONTROL_PLANE_ROLE;

/// Requests the control planes that use a template which was created or deleted: a control plane that waits
/// for its template gets no other event.
pub(super) fn of_template(
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
        requests_of(all.iter().filter(|it| uses(it)))
    }
}

/// Returns the Cluster's control plane if it is a KubeadmControlPlane.
pub(super) fn control_plane_of(cluster: &Cluster) -> Option<Request> {
    let reference = cluster.spec.control_plane_ref.as_ref()?;
    let ours =
        reference.kind == KubeadmControlPlane::KIND && reference.api_group == KubeadmControlPlane::GROUP;
    ours.then(|| {
        NamespacedName::new(cluster.metadata.namespace.clone().unwrap_or_default(), reference.name.as_str())
    })
}

/// Returns the Cluster of a Machine that changed.
pub(super) fn cluster_of_machine(change: &Change<Machine>) -> NamespacedName {
    let name = change.objects().last().map(|machine| machine.spec.cluster_name.clone()).unwrap_or_default();
    NamespacedName::new(change.name().namespace, name)
}

/// Returns whether a change concerns a control plane: any change of a labelled or owned Machine, and the
/// deletion of any Machine.
pub(super) fn machine_matters(change: &Change<Machine>) -> bool {
    let is_ours = |machine: &Machine| {
        owners::controller(machine).is_some_and(|owner| owner.kind == KubeadmControlPlane::KIND)
    };
    change.new.is_none()
        || change.objects().any(|machine| {
            object::label(machine.as_ref(), engine::names::CONTROL_PLANE).is_some() || is_ours(machine)
        })
}

/// Returns the request for the control plane of a Cluster if the change of the Cluster affects it.
pub(super) fn cluster_requests(change: &Change<Cluster>) -> Vec<Request> {
    let facts = |cluster: &Cluster| {
        (
            cluster.spec.paused,
            cluster.spec.control_plane_ref.clone(),
            cluster.spec.control_plane_endpoint.clone(),
            cluster.spec.topology.as_ref().map(|topology| topology.version.clone()),
            object::annotation(cluster, UPGRADE_STEP).map(str::to_owned),
            cluster.status.as_ref().map(|status| status.failure_domains.clone()),
            engine::initialization::has_infrastructure(cluster),
        )
    };
    if change.old.as_deref().map(facts) == change.new.as_deref().map(facts) {
        return Vec::new();
    }
    change.new.as_deref().and_then(control_plane_of).into_iter().collect()
}

/// Returns the cluster for which an authority, key or kubeconfig was created, changed or deleted.
pub(super) fn secret_cluster(change: &Change<Secret>) -> Option<NamespacedName> {
    let data = |secret: &Secret| (secret.data.clone(), secret.metadata.owner_references.clone());
    if change.old.as_deref().map(data) == change.new.as_deref().map(data) {
        return None;
    }
    let secret = change.objects().last()?;
    let cluster = object::label(secret.as_ref(), engine::names::CLUSTER_NAME)?;
    let name = change.name();
    let suffix = name.name.strip_prefix(cluster)?.strip_prefix('-')?;
    let ours = ["ca", "etcd", "sa", "proxy", "apiserver-etcd-client", "kubeconfig"].contains(&suffix);
    ours.then(|| NamespacedName::new(name.namespace, cluster))
}

/// Returns whether a control plane Node changed in a field that a condition depends on.
pub(super) fn node_matters(change: &Change<Node>) -> bool {
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

/// Returns whether a static Pod of the control plane changed in a field that a condition depends on.
pub(super) fn pod_matters(change: &Change<Pod>) -> bool {
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
