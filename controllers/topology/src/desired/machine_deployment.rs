//! A MachineDeployment of the topology, with its templates.

use schemas::cluster::{
    Bootstrap, MachineDeletionSpec, MachineDeployment, MachineDeploymentClass, MachineDeploymentRemediation,
    MachineDeploymentRollout, MachineDeploymentSpec, MachineDeploymentTopology,
    MachineDeploymentTopologyDeletion, MachineSetDeletion, MachineSpec, MachineTemplateSpec,
};
use schemas::meta::{ContractVersionedObjectReference, ObjectMetaTemplate};
use serde_json::{Value, json};

use super::cloned::{self, Copy};
use super::error::DesiredError;
use super::health_check;
use super::inputs::Inputs;
use super::metadata;
use super::objects::DesiredWorkers;
use crate::names::{self, Random};
use crate::object::{self, Texts};

const NAME: &str = "{{ .cluster.name }}-{{ .machineDeployment.topologyName }}-{{ .random }}";

/// Makes the MachineDeployment, its templates and its health check. What exists keeps its name.
pub fn compute(
    inputs: &Inputs<'_>,
    index: usize,
    topology: &MachineDeploymentTopology,
    random: Random<'_>,
) -> Result<DesiredWorkers, DesiredError> {
    let missing = || DesiredError::NoWorkerClass {
        field: format!("spec.topology.workers.machineDeployments[{index}].class"),
        class: inputs.blueprint.class_name(),
        kind: "MachineDeployments",
        missing: topology.class.clone(),
    };
    let class = inputs.blueprint.machine_deployment_class(&topology.class).ok_or_else(missing)?;
    let templates = inputs.blueprint.machine_deployments.get(&topology.class).ok_or_else(missing)?;
    let current = inputs.current.machine_deployments.get(&topology.name);
    let copy = |current: Option<&Value>, random: Random<'_>| {
        Copy::of_workers(inputs, names::DEPLOYMENT_NAME, &topology.name, current.map(object::name), random)
    };
    let bootstrap_template = copy(current.map(|current| &current.bootstrap_template), random)
        .template(&templates.bootstrap.object);
    let infrastructure_template = copy(current.map(|current| &current.infrastructure_template), random)
        .template(&templates.infrastructure.object);
    let current_name = current.and_then(|current| current.object.metadata.name.as_deref());
    let name = cloned::kept(current_name, name(inputs, class, topology, current_name, random)?);
    let references = (reference(&bootstrap_template), reference(&infrastructure_template));
    let object = machine_deployment(inputs, class, topology, name, references);
    let health_check = health_check::of_machine_deployment(inputs, class, topology, &object);
    Ok(DesiredWorkers { object, bootstrap_template, infrastructure_template, health_check })
}

fn name(
    inputs: &Inputs<'_>,
    class: &MachineDeploymentClass,
    topology: &MachineDeploymentTopology,
    current: Option<&str>,
    random: Random<'_>,
) -> Result<String, DesiredError> {
    let naming = class.naming.as_ref().and_then(|naming| naming.template.as_deref()).unwrap_or(NAME);
    let cluster = inputs.current.cluster.metadata.name.as_deref().unwrap_or_default();
    let values = [("cluster.name", cluster), ("machineDeployment.topologyName", &topology.name)];
    names::from_template(naming, &values, current, random).map_err(|message| DesiredError::Name {
        field: format!("spec.workers.machineDeployments[{}].naming.template", class.class),
        message,
    })
}

/// A reference to an object.
pub fn reference(object: &Value) -> ContractVersionedObjectReference {
    ContractVersionedObjectReference {
        api_group: object::group(object).to_owned(),
        kind: object::kind(object).to_owned(),
        name: object::name(object).to_owned(),
    }
}

fn machine_deployment(
    inputs: &Inputs<'_>,
    class: &MachineDeploymentClass,
    topology: &MachineDeploymentTopology,
    name: String,
    (bootstrap, infrastructure): (ContractVersionedObjectReference, ContractVersionedObjectReference),
) -> Value {
    let cluster = &inputs.current.cluster;
    let cluster_name = cluster.metadata.name.clone().unwrap_or_default();
    let both = metadata::of_both(topology.metadata.as_ref(), class.metadata.as_ref());
    let annotations = metadata::without_upgrade_controls(both.annotations);
    let mut selected = metadata::labels(cluster);
    selected.insert(names::DEPLOYMENT_NAME.to_owned(), topology.name.clone());
    let labels = object::merged(&selected, &both.labels);
    let (deletion, order) = deletion(class, topology);
    let machine = MachineSpec {
        cluster_name: cluster_name.clone(),
        bootstrap: Bootstrap { config_ref: Some(bootstrap), data_secret_name: None },
        infrastructure_ref: infrastructure,
        version: inputs.versions.machine_deployments.version_of(&topology.name),
        failure_domain: topology.failure_domain.clone().or_else(|| class.failure_domain.clone()),
        deletion,
        readiness_gates: or(&topology.readiness_gates, &class.readiness_gates),
        taints: or(&topology.taints, &class.taints),
        min_ready_seconds: topology.min_ready_seconds.or(class.min_ready_seconds),
        provider_id: None,
    };
    let metadata = ObjectMetaTemplate { labels: labels.clone(), annotations: annotations.clone() };
    let mut spec = MachineDeploymentSpec {
        cluster_name,
        deletion: order.map(|order| MachineSetDeletion { order: Some(order) }),
        remediation: remediation(class, topology),
        replicas: topology.replicas,
        rollout: rollout(class, topology),
        template: MachineTemplateSpec { metadata: Some(metadata), spec: machine },
        ..MachineDeploymentSpec::default()
    };
    spec.selector.match_labels = Some(selected);
    json!({
        "apiVersion": MachineDeployment::API_VERSION,
        "kind": MachineDeployment::KIND,
        "metadata": object_metadata(inputs, name, &labels, &annotations),
        "spec": spec,
    })
}

/// The metadata of workers. Annotations are absent when there are none.
pub fn object_metadata(inputs: &Inputs<'_>, name: String, labels: &Texts, annotations: &Texts) -> Value {
    let namespace = &inputs.current.cluster.metadata.namespace;
    let mut metadata = json!({ "name": name, "namespace": namespace, "labels": labels });
    if !annotations.is_empty() {
        metadata["annotations"] = json!(annotations);
    }
    metadata
}

/// The list of the topology, or that of the class if the topology has none.
pub fn or<T: Clone>(topology: &[T], class: &[T]) -> Vec<T> {
    if topology.is_empty() { class.to_vec() } else { topology.to_vec() }
}

/// How long the steps of a machine's deletion may take, and which machines go first.
fn deletion(
    class: &MachineDeploymentClass,
    topology: &MachineDeploymentTopology,
) -> (Option<MachineDeletionSpec>, Option<String>) {
    let nothing = MachineDeploymentTopologyDeletion::default();
    let (ours, theirs) =
        (topology.deletion.as_ref().unwrap_or(&nothing), class.deletion.as_ref().unwrap_or(&nothing));
    let timeouts = MachineDeletionSpec {
        node_drain_timeout_seconds: ours.node_drain_timeout_seconds.or(theirs.node_drain_timeout_seconds),
        node_volume_detach_timeout_seconds: ours
            .node_volume_detach_timeout_seconds
            .or(theirs.node_volume_detach_timeout_seconds),
        node_deletion_timeout_seconds: ours
            .node_deletion_timeout_seconds
            .or(theirs.node_deletion_timeout_seconds),
    };
    let order = ours.order.clone().or_else(|| theirs.order.clone());
    (Some(timeouts).filter(|timeouts| *timeouts != MachineDeletionSpec::default()), order)
}

fn remediation(
    class: &MachineDeploymentClass,
    topology: &MachineDeploymentTopology,
) -> Option<MachineDeploymentRemediation> {
    let ours = topology.health_check.as_ref().and_then(|check| check.remediation.as_ref());
    let theirs = class.health_check.as_ref().and_then(|check| check.remediation.as_ref());
    let in_flight = ours.and_then(|remediation| remediation.max_in_flight.clone());
    let in_flight = in_flight.or_else(|| theirs.and_then(|remediation| remediation.max_in_flight.clone()));
    in_flight.map(|in_flight| MachineDeploymentRemediation { max_in_flight: Some(in_flight) })
}

/// How machines are replaced. What the topology says replaces all that the class says.
fn rollout(
    class: &MachineDeploymentClass,
    topology: &MachineDeploymentTopology,
) -> Option<MachineDeploymentRollout> {
    let nothing = MachineDeploymentRollout::default();
    let ours = topology.rollout.clone().filter(|rollout| *rollout != nothing);
    let theirs = || {
        let strategy = class.rollout.as_ref()?.strategy.clone()?;
        Some(MachineDeploymentRollout { after: None, strategy: Some(strategy) })
    };
    ours.or_else(theirs)
}
