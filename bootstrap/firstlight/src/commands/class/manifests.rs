//! The class and the Cluster of the command line, and the objects that they make.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use cluster_topology::Desired;
use cluster_topology::offline::{self, OfflineError, Rendered};
use schemas::cluster::Cluster;
use serde_json::{Map, Value};

use super::served::{Kinds, WithManifests};
use crate::manifests::read::read_all;

/// Reads the objects of all files and folders, as a server would store them.
///
/// # Errors
/// A file cannot be read, or a server would refuse an object because of its schema.
pub fn read(kinds: &Kinds, sources: &[PathBuf]) -> Result<Vec<Value>> {
    read_all(sources)?.iter().map(|document| Ok(kinds.stored(document)?)).collect()
}

/// Reads the objects of a file as they are written.
pub fn read_rendered(source: PathBuf) -> Result<Vec<Value>> {
    Ok(read_all(&[source])?.into_iter().map(|document| document.object).collect())
}

/// Returns the Cluster with a topology; the one of this name if there are several.
pub fn cluster(objects: &[Value], name: Option<&str>) -> Result<Value> {
    let name_of = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let is_cluster = |object: &&Value| {
        object["kind"] == Cluster::KIND
            && object["apiVersion"].as_str().is_some_and(|version| version.starts_with(Cluster::GROUP))
            && name.is_none_or(|name| object["metadata"]["name"] == name)
    };
    let found: Vec<&Value> = objects.iter().filter(is_cluster).collect();
    match (found.as_slice(), name) {
        ([one], _) => Ok((*one).clone()),
        ([], Some(name)) => bail!("the manifests have no Cluster {name:?}"),
        ([], None) => bail!("the manifests have no Cluster; name a file with one (-f)"),
        (several, _) => {
            let names: Vec<String> = several.iter().map(|object| name_of(object)).collect();
            bail!("the manifests have several Clusters; choose one with --cluster: {}", names.join(", "))
        }
    }
}

/// Returns the topology of the Cluster.
pub fn topology(cluster: &mut Value) -> Result<&mut Map<String, Value>> {
    let topology = cluster.pointer_mut("/spec/topology").and_then(Value::as_object_mut);
    topology.context("the Cluster has no spec.topology")
}

/// Sets a variable of the topology: `NAME=VALUE`, with the value in YAML.
pub fn set_variable(cluster: &mut Value, assignment: &str) -> Result<()> {
    let (name, text) = assignment
        .split_once('=')
        .with_context(|| format!("{assignment:?} has no value; write NAME=VALUE, with the value in YAML"))?;
    let value = machinery::decode::yaml(text.as_bytes()).map_err(anyhow::Error::msg);
    let value = value.with_context(|| format!("the value of {name} is not YAML"))?.value;
    let variables = topology(cluster)?.entry("variables").or_insert_with(|| Value::Array(Vec::new()));
    let variables =
        variables.as_array_mut().context("spec.topology.variables of the Cluster is not a list")?;
    variables.retain(|variable| variable["name"] != name);
    variables.push(serde_json::json!({ "name": name, "value": value }));
    Ok(())
}

/// Returns the objects that a class makes of a Cluster, in the order in which they are applied, and a line about each part of a patch that
/// changes none of them.
pub fn render(
    kinds: &Kinds,
    objects: &[Value],
    cluster: &Value,
) -> Result<(Vec<Value>, Vec<String>), OfflineError> {
    let kinds_of_all = WithManifests { kinds, manifests: objects };
    let Rendered { desired, unused } = offline::render(objects, cluster, &kinds_of_all)?;
    let Desired {
        cluster,
        infrastructure,
        control_plane,
        control_plane_machines_template,
        control_plane_health_check,
        machine_deployments,
        machine_pools,
    } = desired;
    let mut rendered = vec![infrastructure];
    rendered.extend(control_plane_machines_template);
    rendered.push(control_plane);
    rendered.extend(control_plane_health_check);
    rendered.push(cluster);
    for workers in machine_deployments.into_values().chain(machine_pools.into_values()) {
        rendered.extend([workers.bootstrap_template, workers.infrastructure_template, workers.object]);
        rendered.extend(workers.health_check);
    }
    let rendered = rendered.into_iter().map(|object| kinds.in_stored_version(object)).collect();
    Ok((rendered, unused.iter().map(ToString::to_string).collect()))
}

/// Writes objects as YAML documents.
pub fn write(objects: &[Value]) -> Result<String> {
    let mut text = String::new();
    for object in objects {
        if !text.is_empty() {
            text.push_str("---\n");
        }
        text.push_str(&machinery::yaml::write(object)?);
    }
    Ok(text)
}
