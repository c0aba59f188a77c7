//! The health checks of a control plane and of MachineDeployments.

use std::sync::Arc;

use engine::object::is_deleting;
use engine::{NamespacedName, Result};
use schemas::cluster::MachineHealthCheck;
use serde_json::Value;

use super::events::quoted;
use super::writer::{Change, Writer, json};
use crate::object;

/// Creates, changes or deletes a health check.
pub async fn apply(
    writer: &Writer<'_>,
    current: Option<&Arc<MachineHealthCheck>>,
    desired: Option<&Value>,
) -> Result<()> {
    let (checks, recorder) = (&writer.handles.checks, &writer.handles.recorder);
    let Some(desired) = desired else {
        let Some(current) = current.filter(|current| !is_deleting(current.as_ref())) else {
            return Ok(());
        };
        checks.delete(current.as_ref()).await?;
        let message = format!("Deleted MachineHealthCheck \"{}\"", NamespacedName::of(current.as_ref()));
        recorder.normal(current.as_ref(), &(), "TopologyDelete", message);
        return Ok(());
    };
    let before = current.map(|current| json(current.as_ref())).transpose()?;
    let (reason, done) = match writer.apply(checks, before.as_ref(), desired).await? {
        Change::Created => ("TopologyCreate", "Created"),
        Change::Updated => ("TopologyUpdate", "Updated"),
        Change::None => return Ok(()),
    };
    if let Some(check) = checks.get(&object::key(desired)) {
        let message = format!("{done} MachineHealthCheck {}", quoted(desired));
        recorder.normal(check.as_ref(), &(), reason, message);
    }
    Ok(())
}
