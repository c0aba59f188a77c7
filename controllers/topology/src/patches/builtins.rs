//! The variables that patches can use: those of the topology, and `builtin`, which describes the Cluster and the part that a template is for.
//!
//! A patch sees only variables that it defines itself. Names and shapes are those of Cluster API's `api/runtime/hooks/v1alpha1`.

use std::collections::BTreeSet;

use schemas::cluster::{Cluster, ClusterClass, ClusterVariable, TopologyVariables};
use serde_json::{Map, Value, json};

use super::items::{Part, WorkersKind};
use super::request::Variable;
use crate::current::Parts;
use crate::desired::{Desired, DesiredWorkers};
use crate::object;

/// The name of the variable that exists without being defined.
const BUILTIN: &str = "builtin";
/// Whose definitions inline patches see.
pub const INLINE: &str = "inline";

/// The names of the variables that somebody defines: `inline`, or the name of an external patch.
pub fn defined_by<'a>(class: &'a ClusterClass, from: &str) -> BTreeSet<&'a str> {
    let variables = class.status.iter().flat_map(|status| &status.variables);
    let ours =
        variables.filter(|variable| variable.definitions.iter().any(|definition| definition.from == from));
    ours.map(|variable| variable.name.as_str()).collect()
}

/// The variables for all templates.
pub fn global(cluster: &Cluster, desired: &Desired, defined: &BTreeSet<&str>) -> Vec<Variable> {
    let values = cluster.spec.topology.as_ref().map_or(&[][..], |topology| &topology.variables);
    with_builtin(values, defined, json!({ "cluster": of_cluster(cluster, desired) }))
}

/// The variables for the template of a part, in addition to those for all.
pub fn of_part(cluster: &Cluster, desired: &Desired, part: &Part, defined: &BTreeSet<&str>) -> Vec<Variable> {
    let Some(parts) = Parts::of(cluster) else { return Vec::new() };
    let overrides = |variables: Option<&'_ TopologyVariables>| {
        variables.map_or_else(Vec::new, |variables| variables.overrides.clone())
    };
    match part {
        Part::Infrastructure => Vec::new(),
        Part::ControlPlane | Part::ControlPlaneMachines => {
            let topology = parts.control_plane();
            let values = overrides(topology.and_then(|topology| topology.variables.as_ref()));
            let has_replicas = topology.is_some_and(|topology| topology.replicas.is_some());
            with_builtin(&values, defined, json!({ "controlPlane": of_control_plane(desired, has_replicas) }))
        }
        Part::Workers(part) => {
            let (kind, variables, made) = match part.kind {
                WorkersKind::MachineDeployment => (
                    "machineDeployment",
                    parts.machine_deployments.get(part.index).and_then(|entry| entry.variables.as_ref()),
                    desired.machine_deployments.get(&part.name),
                ),
                WorkersKind::MachinePool => (
                    "machinePool",
                    parts.machine_pools.get(part.index).and_then(|entry| entry.variables.as_ref()),
                    desired.machine_pools.get(&part.name),
                ),
            };
            let builtin = made.map(|made| of_workers(made, &part.class, &part.name));
            with_builtin(&overrides(variables), defined, json!({ kind: builtin }))
        }
    }
}

/// The variables as the value of a template's dot: those of the part win, and both have their half of `builtin`.
pub fn merged(global: &[Variable], of_part: &[Variable]) -> Value {
    let mut merged = Map::new();
    for variable in global.iter().chain(of_part) {
        match (merged.get_mut(&variable.name), &variable.value) {
            (Some(Value::Object(builtin)), Value::Object(more)) if variable.name == BUILTIN => {
                builtin.extend(more.clone());
            }
            _ => drop(merged.insert(variable.name.clone(), variable.value.clone())),
        }
    }
    Value::Object(merged)
}

/// A value that somebody gave to `builtin` is left out.
fn with_builtin(values: &[ClusterVariable], defined: &BTreeSet<&str>, builtin: Value) -> Vec<Variable> {
    let ours = values.iter().filter(|value| value.name != BUILTIN && defined.contains(value.name.as_str()));
    let mut variables: Vec<Variable> =
        ours.map(|value| Variable { name: value.name.clone(), value: value.value.clone() }).collect();
    variables.push(Variable { name: BUILTIN.to_owned(), value: builtin });
    variables
}

/// `builtin.cluster`. Labels and annotations are those that the Cluster will have.
fn of_cluster(cluster: &Cluster, desired: &Desired) -> Value {
    let metadata = &cluster.metadata;
    let namespace = metadata.namespace.clone().unwrap_or_default();
    let mut fields = Map::new();
    put_text(&mut fields, "name", metadata.name.as_deref().unwrap_or_default());
    put_text(&mut fields, "namespace", &namespace);
    put_text(&mut fields, "uid", metadata.uid.as_deref().unwrap_or_default());
    let mut labels = metadata.labels.clone().unwrap_or_default();
    labels.extend(object::texts(&desired.cluster, &["metadata", "labels"]));
    let mut annotations = metadata.annotations.clone().unwrap_or_default();
    annotations.remove(crate::names::UPGRADE_STEP);
    annotations.extend(object::texts(&desired.cluster, &["metadata", "annotations"]));
    put(&mut fields, "metadata", metadata_of(labels, annotations));
    if let Some(topology) = &cluster.spec.topology {
        let class = &topology.class_ref;
        let class_namespace =
            class.namespace.clone().filter(|namespace| !namespace.is_empty()).unwrap_or(namespace);
        let topology = json!({
            "version": topology.version,
            "class": class.name,
            "classNamespace": class_namespace,
            "classRef": { "name": class.name, "namespace": class_namespace },
        });
        put(&mut fields, "topology", topology);
    }
    if let Some(network) = &cluster.spec.cluster_network {
        let mut parts = Map::new();
        put_text(&mut parts, "serviceDomain", network.service_domain.as_deref().unwrap_or_default());
        for (name, ranges) in [("services", &network.services), ("pods", &network.pods)] {
            let blocks = ranges.as_ref().map(|ranges| ranges.cidr_blocks.clone()).unwrap_or_default();
            if !blocks.is_empty() {
                put(&mut parts, name, json!(blocks));
            }
        }
        if !parts.is_empty() {
            put(&mut fields, "network", Value::Object(parts));
        }
    }
    Value::Object(fields)
}

/// `builtin.controlPlane`. It has replicas only if the topology decides about them.
fn of_control_plane(desired: &Desired, has_replicas: bool) -> Value {
    let object = &desired.control_plane;
    let mut fields = Map::new();
    put_text(&mut fields, "version", object::text(object, &["spec", "version"]));
    put_text(&mut fields, "name", object::name(object));
    put(&mut fields, "metadata", object_metadata(object));
    if let Some(replicas) = object::at(object, &["spec", "replicas"]).filter(|_| has_replicas) {
        put(&mut fields, "replicas", replicas.clone());
    }
    if let Some(template) = &desired.control_plane_machines_template {
        let reference = json!({ "infrastructureRef": { "name": object::name(template) } });
        put(&mut fields, "machineTemplate", reference);
    }
    Value::Object(fields)
}

/// `builtin.machineDeployment` and `builtin.machinePool`.
fn of_workers(made: &DesiredWorkers, class: &str, topology_name: &str) -> Value {
    let object = &made.object;
    let mut fields = Map::new();
    put_text(&mut fields, "version", object::text(object, &["spec", "template", "spec", "version"]));
    put_text(&mut fields, "class", class);
    put_text(&mut fields, "name", object::name(object));
    put_text(&mut fields, "topologyName", topology_name);
    put(&mut fields, "metadata", object_metadata(object));
    if let Some(replicas) = object::at(object, &["spec", "replicas"]) {
        put(&mut fields, "replicas", replicas.clone());
    }
    put(&mut fields, "bootstrap", json!({ "configRef": { "name": object::name(&made.bootstrap_template) } }));
    put(&mut fields, "infrastructureRef", json!({ "name": object::name(&made.infrastructure_template) }));
    Value::Object(fields)
}

fn object_metadata(object: &Value) -> Value {
    let texts = |name| object::texts(object, &["metadata", name]);
    metadata_of(texts("labels"), texts("annotations"))
}

fn metadata_of(labels: object::Texts, annotations: object::Texts) -> Value {
    let mut metadata = Map::new();
    for (name, texts) in [("labels", labels), ("annotations", object::without_bookkeeping(annotations))] {
        if !texts.is_empty() {
            put(&mut metadata, name, json!(texts));
        }
    }
    Value::Object(metadata)
}

fn put(fields: &mut Map<String, Value>, name: &str, value: Value) {
    fields.insert(name.to_owned(), value);
}

/// Sets a text; an empty one is absent.
fn put_text(fields: &mut Map<String, Value>, name: &str, text: &str) {
    if !text.is_empty() {
        put(fields, name, Value::from(text));
    }
}
