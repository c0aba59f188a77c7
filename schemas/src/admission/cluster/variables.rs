//! Defaults of a Cluster's variables, and the check of its values.
//!
//! Both happen before the other rules, so that they see the same class: it may change between two calls.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::class::{definitions, is_settled};
use crate::admission::common::{Errors, at};
use crate::admission::facts::{Fact, Facts};
use crate::cluster::{Topology, TopologyVariables};
use crate::variables::default_and_check;

const TOPOLOGY: [&str; 2] = ["spec", "topology"];

/// Sets the defaults of the variables of a Cluster, and checks all values, if its class is known and all variables are.
pub fn variables(new: &mut Value, old: Option<&Value>, facts: &Facts, errors: &mut Errors) {
    // What has another form is refused by the schema.
    let Ok(mut topology) = Topology::deserialize(at(new, &TOPOLOGY)) else { return };
    if topology.class_ref.name.is_empty() {
        return errors.required("spec.topology.classRef.name", "must be set");
    }
    let Fact::Known(Some(class)) = &facts.class else { return };
    if is_settled(new, old) {
        return;
    }
    let Some(definitions) = definitions(class) else { return };
    let old = old.and_then(|old| Topology::deserialize(at(old, &TOPOLOGY)).ok());
    match default_and_check(&mut topology, old.as_ref(), &definitions) {
        Ok(()) => write(&topology, &mut new["spec"]["topology"]),
        Err(found) => found.into_iter().for_each(|error| errors.add(error)),
    }
}

/// Writes all lists of variables of a topology into the object.
fn write(topology: &Topology, object: &mut Value) {
    replace(&topology.variables, object, "variables");
    if let Some(part) = &topology.control_plane {
        overrides(part.variables.as_ref(), &mut object["controlPlane"]);
    }
    let Some(workers) = &topology.workers else { return };
    for (index, part) in workers.machine_deployments.iter().enumerate() {
        overrides(part.variables.as_ref(), &mut object["workers"]["machineDeployments"][index]);
    }
    for (index, part) in workers.machine_pools.iter().enumerate() {
        overrides(part.variables.as_ref(), &mut object["workers"]["machinePools"][index]);
    }
}

fn overrides(variables: Option<&TopologyVariables>, part: &mut Value) {
    if let Some(variables) = variables {
        replace(&variables.overrides, &mut part["variables"], "overrides");
    }
}

fn replace<T: Serialize>(values: &[T], object: &mut Value, field: &str) {
    if !values.is_empty()
        && let Ok(values) = serde_json::to_value(values)
    {
        object[field] = values;
    }
}
