//! Converts the kinds of the core group from v1beta1 to v1beta2.

use serde_json::Value;

use super::fields::{drop_empty, each, reference, rename, take, template};
use super::parts::{
    deletion, failure_domains, health_check, machine_spec, machine_template, own_health_check, status,
    strategy,
};
use crate::Result;

/// Counters of machines that have another meaning in v1beta2.
const COUNTERS: [&str; 5] =
    ["readyReplicas", "availableReplicas", "unavailableReplicas", "updatedReplicas", "fullyLabeledReplicas"];

/// Converts the fields of an object to those of v1beta2; returns `false` if its kind is not known. Does not change its `apiVersion`.
pub(super) fn convert(kind: &str, object: &mut Value) -> Result<bool> {
    match kind {
        "Cluster" => cluster(object)?,
        "ClusterClass" => cluster_class(object)?,
        "Machine" => machine(object)?,
        "MachineSet" => machine_set(object)?,
        "MachineDeployment" => machine_deployment(object)?,
        "MachinePool" => machine_pool(object)?,
        "MachineHealthCheck" => {
            health_check(object, "/spec", "/spec")?;
            status(object, &[]);
        }
        "MachineDrainRule" => {}
        _ => return Ok(false),
    }
    Ok(true)
}

fn cluster(object: &mut Value) -> Result<()> {
    reference(object, "/spec/controlPlaneRef");
    reference(object, "/spec/infrastructureRef");
    rename(object, "/spec/topology/class", "/spec/topology/classRef/name");
    rename(object, "/spec/topology/classNamespace", "/spec/topology/classRef/namespace");
    take(object, "/spec/topology/rolloutAfter");
    without_definition(object, "/spec/topology/variables");
    if let Some(control_plane) = object.pointer_mut("/spec/topology/controlPlane") {
        topology(control_plane)?;
    }
    for workers in ["machineDeployments", "machinePools"] {
        for workers in each(object, &format!("/spec/topology/workers/{workers}")) {
            topology(workers)?;
        }
    }
    rename(object, "/status/infrastructureReady", "/status/initialization/infrastructureProvisioned");
    rename(object, "/status/controlPlaneReady", "/status/initialization/controlPlaneInitialized");
    failure_domains(object);
    status(object, &[]);
    Ok(())
}

/// Converts the control plane, or a group of workers, of a topology.
fn topology(part: &mut Value) -> Result<()> {
    deletion(part)?;
    own_health_check(part)?;
    strategy(part, "/healthCheck/remediation");
    without_definition(part, "/variables/overrides");
    Ok(())
}

/// Removes `definitionFrom` from variables; v1beta2 does not have it.
fn without_definition(object: &mut Value, list: &str) {
    for variable in each(object, list) {
        take(variable, "/definitionFrom");
    }
}

fn cluster_class(object: &mut Value) -> Result<()> {
    template(object, "/spec/infrastructure/ref", "/spec/infrastructure/templateRef");
    rename(object, "/spec/infrastructureNamingStrategy/template", "/spec/infrastructure/naming/template");
    take(object, "/spec/infrastructureNamingStrategy");
    if let Some(control_plane) = object.pointer_mut("/spec/controlPlane") {
        template(control_plane, "/ref", "/templateRef");
        template(control_plane, "/machineInfrastructure/ref", "/machineInfrastructure/templateRef");
        class(control_plane)?;
    }
    for workers in ["machineDeployments", "machinePools"] {
        for workers in each(object, &format!("/spec/workers/{workers}")) {
            rename(workers, "/template/metadata", "/metadata");
            template(workers, "/template/bootstrap/ref", "/bootstrap/templateRef");
            template(workers, "/template/infrastructure/ref", "/infrastructure/templateRef");
            take(workers, "/template");
            class(workers)?;
        }
    }
    for patch in each(object, "/spec/patches") {
        rename(patch, "/external/generateExtension", "/external/generatePatchesExtension");
        rename(patch, "/external/validateExtension", "/external/validateTopologyExtension");
    }
    for variable in each(object, "/spec/variables") {
        rename(variable, "/metadata", "/deprecatedV1Beta1Metadata");
    }
    for variable in each(object, "/status/variables") {
        for definition in each(variable, "/definitions") {
            rename(definition, "/metadata", "/deprecatedV1Beta1Metadata");
        }
    }
    status(object, &[]);
    Ok(())
}

/// Converts the parts that classes of control planes and of workers have in common.
fn class(part: &mut Value) -> Result<()> {
    deletion(part)?;
    own_health_check(part)?;
    strategy(part, "/healthCheck/remediation");
    rename(part, "/namingStrategy/template", "/naming/template");
    take(part, "/namingStrategy");
    Ok(())
}

fn machine(object: &mut Value) -> Result<()> {
    if let Some(spec) = object.get_mut("spec") {
        machine_spec(spec)?;
    }
    provisioned(object);
    if let Some(node) = take(object, "/status/nodeRef") {
        super::fields::put(object, "/status/nodeRef/name", node["name"].clone());
    }
    status(object, &[]);
    Ok(())
}

fn machine_set(object: &mut Value) -> Result<()> {
    machine_template(object)?;
    rename(object, "/spec/deletePolicy", "/spec/deletion/order");
    naming(object);
    status(object, &COUNTERS);
    Ok(())
}

fn machine_deployment(object: &mut Value) -> Result<()> {
    machine_template(object)?;
    rename(object, "/spec/rolloutAfter", "/spec/rollout/after");
    if let Some(spec) = object.get_mut("spec") {
        strategy(spec, "/remediation");
    }
    naming(object);
    for gone in ["progressDeadlineSeconds", "revisionHistoryLimit"] {
        take(object, &format!("/spec/{gone}"));
    }
    status(object, &COUNTERS);
    Ok(())
}

fn machine_pool(object: &mut Value) -> Result<()> {
    machine_template(object)?;
    provisioned(object);
    status(object, &COUNTERS);
    Ok(())
}

/// Converts the naming of machines, and removes `rollout` if it is empty.
fn naming(object: &mut Value) {
    rename(object, "/spec/machineNamingStrategy/template", "/spec/machineNaming/template");
    take(object, "/spec/machineNamingStrategy");
    drop_empty(object, &["/spec/rollout"]);
}

/// Converts the progress of a machine's creation.
fn provisioned(object: &mut Value) {
    rename(object, "/status/bootstrapReady", "/status/initialization/bootstrapDataSecretCreated");
    rename(object, "/status/infrastructureReady", "/status/initialization/infrastructureProvisioned");
}
