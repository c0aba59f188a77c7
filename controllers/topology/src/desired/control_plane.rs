//! The control plane, and the template of its machines.

use schemas::cluster::{ControlPlaneTopology, MachineDeletionSpec};
use serde::Serialize;
use serde_json::{Value, json};

use super::cloned::{self, Copy};
use super::error::{DesiredError, in_template};
use super::inputs::{Contract, Inputs};
use super::metadata;
use crate::current::Parts;
use crate::names::{self, Random};
use crate::object::{self, Texts};

const NAME: &str = "{{ .cluster.name }}-{{ .random }}";
const METADATA: [&str; 3] = ["spec", "machineTemplate", "metadata"];

/// Makes the template of the machines' infrastructure, if the class has one. It keeps the name that the control plane refers to.
pub fn machines_template(inputs: &Inputs<'_>, random: Random<'_>) -> Result<Option<Value>, DesiredError> {
    let Some(template) = &inputs.blueprint.control_plane_machines else { return Ok(None) };
    let cluster = &inputs.current.cluster;
    let prefix = format!("{}-", cluster.metadata.name.as_deref().unwrap_or_default());
    let current = inputs.current.control_plane.as_ref();
    let current =
        current.map(|current| object::text(&current.object, &reference_path(inputs.contract, "name")));
    let copy = Copy {
        cluster,
        name: cloned::kept(current, names::with_prefix(&prefix, current, random)),
        labels: Texts::new(),
        annotations: Texts::new(),
        is_owned: true,
    };
    Ok(Some(copy.template(&template.object)))
}

/// The path of a field of the reference to the template of machines.
fn reference_path(contract: Contract, field: &'static str) -> Vec<&'static str> {
    let mut path = match contract {
        Contract::V1Beta1 => vec!["spec", "machineTemplate", "infrastructureRef"],
        Contract::V1Beta2 => vec!["spec", "machineTemplate", "spec", "infrastructureRef"],
    };
    path.push(field);
    path
}

/// Makes the control plane object. It keeps the name that the Cluster refers to.
pub fn compute(
    inputs: &Inputs<'_>,
    parts: &Parts<'_>,
    machines_template: Option<&Value>,
    random: Random<'_>,
) -> Result<Value, DesiredError> {
    let cluster = &inputs.current.cluster;
    let class = &inputs.blueprint.class.spec.control_plane;
    let naming = class.naming.as_ref().and_then(|naming| naming.template.as_deref()).unwrap_or(NAME);
    let values = [("cluster.name", cluster.metadata.name.as_deref().unwrap_or_default())];
    let current = cluster.spec.control_plane_ref.as_ref().map(|reference| reference.name.as_str());
    let new = names::from_template(naming, &values, current, random).map_err(|message| {
        DesiredError::Name { field: "spec.controlPlane.naming.template".into(), message }
    })?;
    let nothing = ControlPlaneTopology::default();
    let topology = parts.control_plane().unwrap_or(&nothing);
    let both = metadata::of_both(topology.metadata.as_ref(), class.metadata.as_ref());
    let copy = Copy {
        cluster,
        name: cloned::kept(current, new),
        labels: both.labels.clone(),
        annotations: both.annotations.clone(),
        is_owned: false,
    };
    let template = &inputs.blueprint.control_plane.object;
    let wrong = in_template(template);
    let mut made = copy.object(template).map_err(&wrong)?;
    if let Some(machines) = machines_template {
        let mut labels = both.labels;
        labels.extend(metadata::labels(cluster));
        set_machines(&mut made, inputs, machines, &labels, &both.annotations).map_err(&wrong)?;
    }
    set_fields(&mut made, inputs, topology).map_err(&wrong)?;
    object::set(&mut made, &["spec", "version"], json!(inputs.versions.control_plane.version))
        .map_err(&wrong)?;
    Ok(made)
}

/// Sets the template of the machines, and gives them the metadata of the control plane, which wins over what the template says.
fn set_machines(
    made: &mut Value,
    inputs: &Inputs<'_>,
    template: &Value,
    labels: &Texts,
    annotations: &Texts,
) -> Result<(), String> {
    let (path, reference) = match inputs.contract {
        Contract::V1Beta2 => {
            (&["spec", "machineTemplate", "spec", "infrastructureRef"][..], object::reference(template))
        }
        Contract::V1Beta1 => {
            (&["spec", "machineTemplate", "infrastructureRef"][..], older_reference(inputs, template))
        }
    };
    object::set(made, path, reference)?;
    for (name, ours) in [("labels", labels), ("annotations", annotations)] {
        let path = [METADATA[0], METADATA[1], METADATA[2], name];
        let all = object::merged(ours, &object::texts(made, &path));
        object::set_texts(made, &path, all)?;
    }
    Ok(())
}

/// A reference of the contract v1beta1. If the control plane's controller has raised its version, it keeps that.
fn older_reference(inputs: &Inputs<'_>, template: &Value) -> Value {
    let current = inputs.current.control_plane.as_ref().map(|current| &current.object);
    let current =
        current.and_then(|current| object::at(current, &["spec", "machineTemplate", "infrastructureRef"]));
    let same = current.filter(|current| {
        object::group(current) == object::group(template) && object::kind(current) == object::kind(template)
    });
    json!({
        "apiVersion": same.map_or(&template["apiVersion"], |current| &current["apiVersion"]),
        "kind": object::kind(template),
        "name": object::name(template),
        "namespace": object::text(template, &["metadata", "namespace"]),
    })
}

/// Sets what the topology or the class says. What neither says is left to the template.
fn set_fields(made: &mut Value, inputs: &Inputs<'_>, topology: &ControlPlaneTopology) -> Result<(), String> {
    let class = &inputs.blueprint.class.spec.control_plane;
    if let Some(replicas) = topology.replicas {
        object::set(made, &["spec", "replicas"], json!(replicas))?;
    }
    let after = topology.rollout.as_ref().and_then(|rollout| rollout.after.as_ref());
    if let Some(after) = after.filter(|after| !after.is_empty()) {
        let path: &[&str] = match inputs.contract {
            Contract::V1Beta1 => &["spec", "rolloutAfter"],
            Contract::V1Beta2 => &["spec", "rollout", "after"],
        };
        object::set(made, path, json!(after))?;
    }
    set_list(made, inputs.contract, "readinessGates", &topology.readiness_gates, &class.readiness_gates)?;
    set_list(made, inputs.contract, "taints", &topology.taints, &class.taints)?;
    let nothing = MachineDeletionSpec::default();
    let (ours, theirs) =
        (topology.deletion.as_ref().unwrap_or(&nothing), class.deletion.as_ref().unwrap_or(&nothing));
    let timeouts = [
        ("nodeDrainTimeout", ours.node_drain_timeout_seconds.or(theirs.node_drain_timeout_seconds)),
        (
            "nodeVolumeDetachTimeout",
            ours.node_volume_detach_timeout_seconds.or(theirs.node_volume_detach_timeout_seconds),
        ),
        ("nodeDeletionTimeout", ours.node_deletion_timeout_seconds.or(theirs.node_deletion_timeout_seconds)),
    ];
    for (name, seconds) in timeouts {
        let Some(seconds) = seconds else { continue };
        match inputs.contract {
            Contract::V1Beta1 => {
                let text = machinery::duration::of_seconds(i64::from(seconds));
                object::set(made, &["spec", "machineTemplate", name], json!(text))?;
            }
            Contract::V1Beta2 => {
                let name = format!("{name}Seconds");
                let path = ["spec", "machineTemplate", "spec", "deletion", name.as_str()];
                object::set(made, &path, json!(seconds))?;
            }
        }
    }
    Ok(())
}

/// Sets a list of the machines' template to that of the topology, else to that of the class.
fn set_list<T: Serialize>(
    made: &mut Value,
    contract: Contract,
    name: &str,
    topology: &[T],
    class: &[T],
) -> Result<(), String> {
    let list = if topology.is_empty() { class } else { topology };
    if list.is_empty() {
        return Ok(());
    }
    let path: &[&str] = match contract {
        Contract::V1Beta1 => &["spec", "machineTemplate", name],
        Contract::V1Beta2 => &["spec", "machineTemplate", "spec", name],
    };
    object::set(made, path, json!(list))
}
