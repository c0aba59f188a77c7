//! A MachinePool of the topology, with its bootstrap and infrastructure objects.

use schemas::cluster::{
    Bootstrap, MachineDeletionSpec, MachinePool, MachinePoolClass, MachinePoolSpec, MachinePoolTopology,
    MachineSpec, MachineTemplateSpec,
};
use schemas::meta::{ContractVersionedObjectReference, ObjectMetaTemplate};
use serde_json::{Value, json};

use super::cloned::{self, Copy};
use super::error::{DesiredError, in_template};
use super::inputs::Inputs;
use super::machine_deployment::{object_metadata, or, reference};
use super::metadata;
use super::objects::DesiredWorkers;
use crate::names::{self, Random};
use crate::object;

const NAME: &str = "{{ .cluster.name }}-{{ .machinePool.topologyName }}-{{ .random }}";

/// Makes the MachinePool and the two objects that it uses. What exists keeps its name.
pub fn compute(
    inputs: &Inputs<'_>,
    index: usize,
    topology: &MachinePoolTopology,
    random: Random<'_>,
) -> Result<DesiredWorkers, DesiredError> {
    let missing = || DesiredError::NoWorkerClass {
        field: format!("spec.topology.workers.machinePools[{index}].class"),
        class: inputs.blueprint.class_name(),
        kind: "MachinePools",
        missing: topology.class.clone(),
    };
    let class = inputs.blueprint.machine_pool_class(&topology.class).ok_or_else(missing)?;
    let templates = inputs.blueprint.machine_pools.get(&topology.class).ok_or_else(missing)?;
    let current = inputs.current.machine_pools.get(&topology.name);
    let make = |template: &Value, current: Option<&Value>, random: Random<'_>| {
        let copy =
            Copy::of_workers(inputs, names::POOL_NAME, &topology.name, current.map(object::name), random);
        copy.object(template).map_err(in_template(template))
    };
    let bootstrap = current.map(|current| &current.bootstrap_template);
    let bootstrap_template = make(&templates.bootstrap.object, bootstrap, random)?;
    let infrastructure = current.map(|current| &current.infrastructure_template);
    let infrastructure_template = make(&templates.infrastructure.object, infrastructure, random)?;
    let current_name = current.and_then(|current| current.object.metadata.name.as_deref());
    let name = cloned::kept(current_name, name(inputs, class, topology, current_name, random)?);
    let references = (reference(&bootstrap_template), reference(&infrastructure_template));
    let object = machine_pool(inputs, class, topology, name, references);
    Ok(DesiredWorkers { object, bootstrap_template, infrastructure_template, health_check: None })
}

fn name(
    inputs: &Inputs<'_>,
    class: &MachinePoolClass,
    topology: &MachinePoolTopology,
    current: Option<&str>,
    random: Random<'_>,
) -> Result<String, DesiredError> {
    let naming = class.naming.as_ref().and_then(|naming| naming.template.as_deref()).unwrap_or(NAME);
    let cluster = inputs.current.cluster.metadata.name.as_deref().unwrap_or_default();
    let values = [("cluster.name", cluster), ("machinePool.topologyName", &topology.name)];
    names::from_template(naming, &values, current, random).map_err(|message| DesiredError::Name {
        field: format!("spec.workers.machinePools[{}].naming.template", class.class),
        message,
    })
}

fn machine_pool(
    inputs: &Inputs<'_>,
    class: &MachinePoolClass,
    topology: &MachinePoolTopology,
    name: String,
    (bootstrap, infrastructure): (ContractVersionedObjectReference, ContractVersionedObjectReference),
) -> Value {
    let cluster = &inputs.current.cluster;
    let cluster_name = cluster.metadata.name.clone().unwrap_or_default();
    let both = metadata::of_both(topology.metadata.as_ref(), class.metadata.as_ref());
    let annotations = metadata::without_upgrade_controls(both.annotations);
    let mut labels = both.labels;
    labels.extend(metadata::labels(cluster));
    labels.insert(names::POOL_NAME.to_owned(), topology.name.clone());
    let machine = MachineSpec {
        cluster_name: cluster_name.clone(),
        bootstrap: Bootstrap { config_ref: Some(bootstrap), data_secret_name: None },
        infrastructure_ref: infrastructure,
        version: inputs.versions.machine_pools.version_of(&topology.name),
        deletion: deletion(class, topology),
        taints: or(&topology.taints, &class.taints),
        min_ready_seconds: topology.min_ready_seconds.or(class.min_ready_seconds),
        ..MachineSpec::default()
    };
    let metadata = ObjectMetaTemplate { labels: labels.clone(), annotations: annotations.clone() };
    let spec = MachinePoolSpec {
        cluster_name,
        failure_domains: or(&topology.failure_domains, &class.failure_domains),
        replicas: topology.replicas,
        template: MachineTemplateSpec { metadata: Some(metadata), spec: machine },
        ..MachinePoolSpec::default()
    };
    json!({
        "apiVersion": MachinePool::API_VERSION,
        "kind": MachinePool::KIND,
        "metadata": object_metadata(inputs, name, &labels, &annotations),
        "spec": spec,
    })
}

/// How long the steps of a machine's deletion may take.
fn deletion(class: &MachinePoolClass, topology: &MachinePoolTopology) -> Option<MachineDeletionSpec> {
    let nothing = MachineDeletionSpec::default();
    let (ours, theirs) =
        (topology.deletion.as_ref().unwrap_or(&nothing), class.deletion.as_ref().unwrap_or(&nothing));
    let both = MachineDeletionSpec {
        node_drain_timeout_seconds: ours.node_drain_timeout_seconds.or(theirs.node_drain_timeout_seconds),
        node_volume_detach_timeout_seconds: ours
            .node_volume_detach_timeout_seconds
            .or(theirs.node_volume_detach_timeout_seconds),
        node_deletion_timeout_seconds: ours
            .node_deletion_timeout_seconds
            .or(theirs.node_deletion_timeout_seconds),
    };
    Some(both).filter(|both| *both != nothing)
}
