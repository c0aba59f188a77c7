//! What patched templates give to the desired objects, less the fields that patches may not change.

use serde_json::Value;

use super::items::{Item, Part, WorkersKind, WorkersTemplate};
use crate::desired::Desired;
use crate::names;
use crate::object;

type Path<'a> = &'a [&'a str];

/// From a template to the object that is made from it.
const OBJECT: [(Path<'_>, Path<'_>); 3] = [
    (&["spec", "template", "spec"], &["spec"]),
    (&["spec", "template", "metadata", "labels"], &["metadata", "labels"]),
    (&["spec", "template", "metadata", "annotations"], &["metadata", "annotations"]),
];

/// From a template to its copy.
const TEMPLATE: [(Path<'_>, Path<'_>); 5] = [
    (&["metadata", "labels"], &["metadata", "labels"]),
    (&["metadata", "annotations"], &["metadata", "annotations"]),
    (&["spec", "template", "spec"], &["spec", "template", "spec"]),
    (&["spec", "template", "metadata", "labels"], &["spec", "template", "metadata", "labels"]),
    (&["spec", "template", "metadata", "annotations"], &["spec", "template", "metadata", "annotations"]),
];

/// Fields of every object that stay as they are.
const PROTECTED: [Path<'_>; 6] = [
    &["metadata", "labels", names::CLUSTER_NAME],
    &["metadata", "labels", names::OWNED],
    &["metadata", "labels", names::DEPLOYMENT_NAME],
    &["metadata", "labels", names::POOL_NAME],
    &["metadata", "annotations", names::CLONED_FROM_NAME],
    &["metadata", "annotations", names::CLONED_FROM_GROUP_KIND],
];

/// Fields of a control plane that stay as they are, in both contracts.
const PROTECTED_OF_CONTROL_PLANE: [Path<'_>; 17] = [
    &["spec", "machineTemplate", "metadata"],
    &["spec", "machineTemplate", "readinessGates"],
    &["spec", "machineTemplate", "spec", "readinessGates"],
    &["spec", "machineTemplate", "taints"],
    &["spec", "machineTemplate", "spec", "taints"],
    &["spec", "machineTemplate", "infrastructureRef"],
    &["spec", "machineTemplate", "spec", "infrastructureRef"],
    &["spec", "machineTemplate", "nodeDrainTimeout"],
    &["spec", "machineTemplate", "nodeVolumeDetachTimeout"],
    &["spec", "machineTemplate", "nodeDeletionTimeout"],
    &["spec", "machineTemplate", "spec", "deletion", "nodeDrainTimeoutSeconds"],
    &["spec", "machineTemplate", "spec", "deletion", "nodeVolumeDetachTimeoutSeconds"],
    &["spec", "machineTemplate", "spec", "deletion", "nodeDeletionTimeoutSeconds"],
    &["spec", "replicas"],
    &["spec", "version"],
    &["spec", "rollout", "after"],
    &["spec", "rolloutAfter"],
];

/// Takes the patched template of an item over into the desired objects.
///
/// # Errors
/// Says which value of the patched template is no object.
pub fn take_over(desired: &mut Desired, item: Item) -> Result<(), String> {
    let template = &item.item.object;
    let named = |described: String| move |message| format!("{described}: {message}");
    let described = object::described(template);
    let outcome = match &item.part {
        Part::Infrastructure => copy(template, &mut desired.infrastructure, &OBJECT, &[]),
        Part::ControlPlane => {
            copy(template, &mut desired.control_plane, &OBJECT, &PROTECTED_OF_CONTROL_PLANE)
        }
        Part::ControlPlaneMachines => match &mut desired.control_plane_machines_template {
            Some(made) => copy(template, made, &TEMPLATE, &[]),
            None => Ok(()),
        },
        Part::Workers(part) => {
            let (workers, fields) = match part.kind {
                WorkersKind::MachineDeployment => {
                    (desired.machine_deployments.get_mut(&part.name), &TEMPLATE[..])
                }
                WorkersKind::MachinePool => (desired.machine_pools.get_mut(&part.name), &OBJECT[..]),
            };
            let made = workers.map(|workers| match part.template {
                WorkersTemplate::Bootstrap => &mut workers.bootstrap_template,
                WorkersTemplate::Infrastructure => &mut workers.infrastructure_template,
            });
            made.map_or(Ok(()), |made| copy(template, made, fields, &[]))
        }
    };
    outcome.map_err(named(described))
}

/// Copies fields, and puts those back that are protected. A protected field that was not there before is none.
fn copy(
    template: &Value,
    made: &mut Value,
    fields: &[(Path<'_>, Path<'_>)],
    protected: &[Path<'_>],
) -> Result<(), String> {
    let protected = protected.iter().chain(&PROTECTED);
    let kept: Vec<(Path<'_>, Value)> =
        protected.filter_map(|path| Some((*path, object::at(made, path)?.clone()))).collect();
    for (from, to) in fields {
        if let Some(value) = object::at(template, from) {
            object::set(made, to, value.clone())?;
        }
    }
    for (path, value) in kept {
        object::set(made, path, value)?;
    }
    Ok(())
}

/// Leaves an endpoint that a template has, but does not fill in, to the provider that does: an apply of it would take it away again.
///
/// Source: `IgnorePaths` of Cluster API's `internal/contract`.
pub fn without_empty_endpoint(made: &mut Value) {
    const ENDPOINT: [&str; 2] = ["spec", "controlPlaneEndpoint"];
    let is_empty =
        |value: &Value| matches!(value, Value::String(text) if text.is_empty()) || value.as_i64() == Some(0);
    let Some(Value::Object(endpoint)) = made.pointer_mut("/spec/controlPlaneEndpoint") else { return };
    for name in ["host", "port"] {
        if endpoint.get(name).is_some_and(is_empty) {
            endpoint.remove(name);
        }
    }
    if endpoint.is_empty() {
        object::remove(made, &ENDPOINT);
    }
}
