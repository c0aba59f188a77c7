//! The rules of the Cluster controller.

use engine::initialization::{has_control_plane, has_infrastructure};
use engine::names::CLUSTER_NAME;
use engine::object::is_deleting;
use engine::steps::Event;
use engine::{Action, ExternalObject, NamespacedName, owners};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::ApiResource;
use schemas::HasConditions;
use schemas::cluster::{Cluster, ClusterInitializationStatus, ClusterStatus};
use schemas::meta::ApiEndpoint;

use super::deletion::{self, Stage};
use super::kubeconfig::MakeKubeconfig;
use super::observed::Observed;
use super::progress::{endpoint, has_endpoint, is_control_plane_initialized, is_infrastructure_provisioned};
use super::{counters, grace, status, v1beta1};
use crate::change::Reference;
use crate::contract;

/// The finalizer of Clusters.
pub const FINALIZER: &str = "cluster.cluster.x-k8s.io";

/// What happens to a Cluster and its objects.
pub type Plan = engine::Plan<Cluster, MakeKubeconfig>;
pub(super) type Step = engine::Step<MakeKubeconfig>;

/// Applies all rules of a Cluster. Pure function.
pub fn plan(observed: &Observed) -> Plan {
    let mut plan = Plan::of(observed.cluster.as_ref().clone());
    engine::paused::set(&mut plan.wanted, Some(&observed.cluster), observed.now);
    let is_deleting = is_deleting(observed.cluster.as_ref());
    let waits = !is_deleting && waits_for_topology(&observed.cluster);
    if !waits {
        infrastructure(&mut plan, observed);
        control_plane(&mut plan, observed);
    }
    grace::undone(&mut plan, observed);
    let stage = if is_deleting { deletion::plan(&mut plan, observed) } else { Stage::NotDeleting };
    if !is_deleting && !waits && needs_kubeconfig(&plan.wanted, observed) {
        plan.steps.push(Step::own(MakeKubeconfig(NamespacedName::of(observed.cluster.as_ref()))));
    }
    status(&mut plan, observed, &stage);
    match stage {
        Stage::GracePeriodEnds(_) => return grace::end(&plan, observed),
        Stage::Completed => {
            engine::finalizer::remove(&mut plan.wanted, FINALIZER);
            let name = plan.wanted.metadata.name.clone().unwrap_or_default();
            plan.steps.push(Step::tell(Event::normal("Deleted", format!("Cluster {name} has been deleted"))));
        }
        Stage::NotDeleting | Stage::Waiting(..) => {}
    }
    plan
}

/// Returns whether the topology is still to set the references.
fn waits_for_topology(cluster: &Cluster) -> bool {
    let spec = &cluster.spec;
    spec.topology.is_some() && (spec.infrastructure_ref.is_none() || spec.control_plane_ref.is_none())
}

fn initialization(status: &mut ClusterStatus) -> &mut ClusterInitializationStatus {
    status.initialization.get_or_insert_default()
}

fn infrastructure(plan: &mut Plan, observed: &Observed) {
    let provisioned = has_infrastructure(&plan.wanted);
    match &observed.infrastructure {
        // A topology is still to make the infrastructure.
        Reference::None if is_deleting(&plan.wanted) || plan.wanted.spec.topology.is_some() => {}
        Reference::None => {
            initialization(plan.wanted.status.get_or_insert_default()).infrastructure_provisioned =
                Some(true);
        }
        Reference::NotFound if provisioned && !is_deleting(observed.cluster.as_ref()) => {
            plan.errors.push(missing("infrastructure", observed.cluster.spec.infrastructure_ref.as_ref()));
        }
        // The object's creation event triggers the next reconcile.
        Reference::NotFound => {}
        Reference::Failed(error) => plan.errors.push(error.clone()),
        Reference::Found(object) => {
            plan.steps.extend(owned_by_cluster(&observed.cluster, object));
            copy_failure(&mut plan.wanted, object);
            let now = is_infrastructure_provisioned(object);
            if now && !provisioned {
                initialization(plan.wanted.status.get_or_insert_default()).infrastructure_provisioned =
                    Some(true);
                let name = observed.cluster.metadata.name.clone().unwrap_or_default();
                let message = format!("Cluster {name} InfrastructureProvisioned is now True");
                plan.steps.push(Step::tell(Event::normal("InfrastructureReady", message)));
            }
            if now || provisioned {
                copy_endpoint(plan, object);
                if let Some(domains) = contract::failure_domains(object) {
                    plan.wanted.status.get_or_insert_default().failure_domains = domains;
                }
            }
        }
    }
}

fn control_plane(plan: &mut Plan, observed: &Observed) {
    let initialized = has_control_plane(&plan.wanted);
    match &observed.control_plane {
        Reference::None => {
            let has_node = observed
                .control_plane_machines
                .iter()
                .any(|machine| machine.status.as_ref().is_some_and(|status| status.node_ref.is_some()));
            if has_node && !initialized {
                initialization(plan.wanted.status.get_or_insert_default()).control_plane_initialized =
                    Some(true);
            }
        }
        Reference::NotFound if initialized && !is_deleting(observed.cluster.as_ref()) => {
            plan.errors.push(missing("control plane", observed.cluster.spec.control_plane_ref.as_ref()));
        }
        Reference::NotFound => {}
        Reference::Failed(error) => plan.errors.push(error.clone()),
        Reference::Found(object) => {
            plan.steps.extend(owned_by_cluster(&observed.cluster, object));
            copy_failure(&mut plan.wanted, object);
            copy_endpoint(plan, object);
            let now = is_control_plane_initialized(object);
            if now && !initialized {
                initialization(plan.wanted.status.get_or_insert_default()).control_plane_initialized =
                    Some(true);
                let name = observed.cluster.metadata.name.clone().unwrap_or_default();
                let message = format!("Cluster {name} ControlPlaneInitialized is now True");
                plan.steps.push(Step::tell(Event::normal("ControlPlaneInitialized", message)));
            }
        }
    }
}

fn missing(what: &str, reference: Option<&schemas::meta::ContractVersionedObjectReference>) -> String {
    let (kind, name) = reference.map_or(("", ""), |reference| (&reference.kind, &reference.name));
    format!("the {what} object {kind} {name} has been deleted while the cluster still exists")
}

/// Adds the Cluster as owner of its infrastructure or control plane object. The reference is a controller
/// reference only if a topology manages the Cluster.
fn owned_by_cluster(cluster: &Cluster, object: &ExternalObject) -> Option<Step> {
    let mut wanted = object.object.as_ref().clone();
    owners::ensure(&mut wanted, owner_reference(cluster));
    let name = cluster.metadata.name.clone().unwrap_or_default();
    wanted.metadata.labels.get_or_insert_default().insert(CLUSTER_NAME.to_owned(), name);
    (wanted.metadata != object.object.metadata).then(|| Step::patch(object, wanted))
}

fn owner_reference(cluster: &Cluster) -> OwnerReference {
    if cluster.spec.topology.is_some() {
        owners::controller_reference(cluster, &())
    } else {
        owners::reference(cluster, &())
    }
}

/// Copies the failure that an object reports for older clients. It stays until somebody removes it.
fn copy_failure(cluster: &mut Cluster, object: &ExternalObject) {
    let (reason, message) = (object.text("/status/failureReason"), object.text("/status/failureMessage"));
    if reason.is_none() && message.is_none() {
        return;
    }
    let status = cluster.status.get_or_insert_default();
    let failure = status.deprecated.get_or_insert_default().v1beta1.get_or_insert_default();
    if let Some(reason) = reason {
        failure.failure_reason = Some(reason.to_owned());
    }
    if let Some(message) = message {
        let ApiResource { group, version, kind, .. } = &object.resource;
        let name = object.object.metadata.name.as_deref().unwrap_or_default();
        failure.failure_message = Some(engine::v1beta1::shortened(format!(
            "Failure detected from referenced resource {group}/{version}, Kind={kind} with name \"{name}\": {message}"
        )));
    }
}

/// Returns whether the Cluster has a failure for older clients.
fn has_failed(cluster: &Cluster) -> bool {
    let deprecated = cluster.status.as_ref().and_then(|status| status.deprecated.as_ref()?.v1beta1.as_ref());
    deprecated.is_some_and(|failure| failure.failure_reason.is_some() || failure.failure_message.is_some())
}

fn copy_endpoint(plan: &mut Plan, object: &ExternalObject) {
    if has_endpoint(&plan.wanted) {
        return;
    }
    if let Some((host, port)) = endpoint(object) {
        plan.wanted.spec.control_plane_endpoint =
            Some(ApiEndpoint { host: Some(host.to_owned()), port: Some(port) });
    }
}

/// Returns whether the kubeconfig is made: other Clusters than those without a control plane object get theirs from its controller.
fn needs_kubeconfig(wanted: &Cluster, observed: &Observed) -> bool {
    observed.cluster.spec.control_plane_ref.is_none()
        && has_endpoint(wanted)
        && observed.authority.is_some()
        && !observed.has_kubeconfig
}

fn status(plan: &mut Plan, observed: &Observed, stage: &Stage) {
    let generation = plan.wanted.metadata.generation;
    let status = plan.wanted.status.get_or_insert_default();
    counters::set(status, observed);
    status.observed_generation = generation;
    phase(plan);
    status::set(
        &mut plan.wanted,
        observed,
        stage,
        observed.cluster.condition_is_true("ControlPlaneInitialized"),
    );
    v1beta1::set(&mut plan.wanted, observed);
    if let Some(delay) = status::requeue(observed) {
        plan.action = plan.action.min(Action::requeue_after(delay));
    }
}

/// Sets the phase and records an event when it changes.
fn phase(plan: &mut Plan) {
    let cluster = &plan.wanted;
    let phase = if is_deleting(cluster) {
        "Deleting"
    } else if has_failed(cluster) {
        "Failed"
    } else if has_infrastructure(cluster) && has_endpoint(cluster) {
        "Provisioned"
    } else if cluster.spec.infrastructure_ref.is_some() || cluster.spec.control_plane_ref.is_some() {
        "Provisioning"
    } else {
        "Pending"
    };
    let name = cluster.metadata.name.clone().unwrap_or_default();
    let status = plan.wanted.status.get_or_insert_default();
    if status.phase.as_deref() != Some(phase) {
        status.phase = Some(phase.to_owned());
        plan.steps.push(Step::tell(Event::normal(phase, format!("Cluster {name} is {phase}"))));
    }
}
