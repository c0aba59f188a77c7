//! What exists of a Cluster: its infrastructure, its control plane, and what belongs to these.

use std::sync::Arc;

use engine::{Error, NamespacedName, Result};
use schemas::cluster::Cluster;
use schemas::meta::ContractVersionedObjectReference;
use serde_json::Value;

use super::{Sources, workers};
use crate::desired::Contract;
use crate::object::version_and_kind;
use crate::{Blueprint, ControlPlane, Current};

/// Reads what exists of `cluster`.
///
/// # Errors
/// An object that something refers to does not exist or cannot be read, or it is not one of a topology.
pub(super) async fn current(
    sources: &Sources,
    cluster: &Arc<Cluster>,
    blueprint: &Blueprint,
    contract: Contract,
) -> Result<Current> {
    let namespace = cluster.metadata.namespace.as_deref().unwrap_or_default();
    let infrastructure = match &cluster.spec.infrastructure_ref {
        Some(reference) => Some(
            sources
                .provided
                .referenced(namespace, reference, Some(&blueprint.infrastructure.object))
                .await
                .map_err(|error| Error::failed(format!("spec.infrastructureRef: {error}")))?,
        ),
        None => None,
    };
    let control_plane = match &cluster.spec.control_plane_ref {
        Some(reference) => Some(control_plane(sources, namespace, reference, blueprint, contract).await?),
        None => None,
    };
    Ok(Current {
        infrastructure,
        control_plane,
        machine_deployments: workers::machine_deployments(sources, cluster, blueprint).await?,
        machine_pools: workers::machine_pools(sources, cluster, blueprint).await?,
        cluster: cluster.clone(),
    })
}

async fn control_plane(
    sources: &Sources,
    namespace: &str,
    reference: &ContractVersionedObjectReference,
    blueprint: &Blueprint,
    contract: Contract,
) -> Result<ControlPlane> {
    let object = sources
        .provided
        .referenced(namespace, reference, Some(&blueprint.control_plane.object))
        .await
        .map_err(|error| Error::failed(format!("spec.controlPlaneRef: {error}")))?;
    let machines_template = match &blueprint.control_plane_machines {
        Some(template) => {
            let reference = machines_reference(&object, contract)?;
            Some(sources.provided.referenced(namespace, &reference, Some(&template.object)).await?)
        }
        None => None,
    };
    let health_check = sources.checks.get(&NamespacedName::new(namespace, reference.name.as_str()));
    Ok(ControlPlane { object, machines_template, health_check })
}

/// Returns the reference of a control plane to the template of its machines.
fn machines_reference(object: &Value, contract: Contract) -> Result<ContractVersionedObjectReference> {
    let path = match contract {
        Contract::V1Beta1 => "/spec/machineTemplate/infrastructureRef",
        Contract::V1Beta2 => "/spec/machineTemplate/spec/infrastructureRef",
    };
    let reference = object.pointer(path).unwrap_or(&Value::Null);
    let text = |field: &str| reference[field].as_str().unwrap_or_default().to_owned();
    let version = text("apiVersion");
    let api_group = match contract {
        Contract::V1Beta1 => version.split_once('/').map_or("", |(group, _)| group).to_owned(),
        Contract::V1Beta2 => text("apiGroup"),
    };
    let reference = ContractVersionedObjectReference { api_group, kind: text("kind"), name: text("name") };
    if reference.name.is_empty() || reference.kind.is_empty() {
        let (_, kind) = version_and_kind(object);
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let path = path.trim_start_matches('/').replace('/', ".");
        return Err(Error::failed(format!(
            "{kind} {name} has no {path}, although the class has a machineInfrastructure"
        )));
    }
    Ok(reference)
}
