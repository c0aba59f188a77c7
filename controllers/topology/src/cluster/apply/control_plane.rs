//! The control plane, the template of its machines, and their health check.

use engine::Result;
use serde_json::Value;

use super::super::observed::Observed;
use super::super::plan::Decision;
use super::health_check;
use super::templates::{self, Fate};
use super::writer::Writer;
use crate::Desired;
use crate::desired::Contract;

/// Applies the control plane. The health check of a new one follows once the Cluster refers to it. While it waits for its next version,
/// nothing but the health check changes: otherwise its machines would be replaced twice.
///
/// # Errors
/// A step that failed. A template that was created for nothing is deleted.
pub async fn apply(
    writer: &Writer<'_>,
    observed: &Observed,
    decision: &Decision,
    desired: &mut Desired,
) -> Result<()> {
    let current = observed.current.control_plane.as_ref();
    if let Some(current) = current {
        let desired = desired.control_plane_health_check.as_ref();
        health_check::apply(writer, current.health_check.as_ref(), desired).await?;
    }
    if decision.versions.control_plane.is_pending {
        return Ok(());
    }
    let old = current.and_then(|current| current.machines_template.as_ref());
    let mut fate = Fate::Kept;
    if let Some(template) = &mut desired.control_plane_machines_template {
        let prefix = format!("{}-", writer.cluster.metadata.name.as_deref().unwrap_or_default());
        fate = templates::apply(writer, old, template, &prefix, false).await?;
        set_template(&mut desired.control_plane, observed.contract, &template["metadata"]["name"]);
    }
    let object = current.map(|current| &current.object);
    let applied = writer.apply_object(object, &desired.control_plane).await;
    if let (Err(_), Some(template)) = (&applied, &desired.control_plane_machines_template)
        && fate != Fate::Kept
    {
        writer.clean_up(&[template]).await;
    }
    applied?;
    match old {
        Some(old) if fate == Fate::Rotated => writer.delete(old).await,
        _ => Ok(()),
    }
}

/// Sets the name of the template in the control plane's reference.
fn set_template(control_plane: &mut Value, contract: Contract, name: &Value) {
    let path = match contract {
        Contract::V1Beta1 => "/spec/machineTemplate/infrastructureRef",
        Contract::V1Beta2 => "/spec/machineTemplate/spec/infrastructureRef",
    };
    if let Some(Value::Object(reference)) = control_plane.pointer_mut(path) {
        reference.insert("name".to_owned(), name.clone());
    }
}
