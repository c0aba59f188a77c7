//! What a topology sets on the Cluster itself.

use engine::{Error, Result};
use schemas::meta::ContractVersionedObjectReference;
use serde_json::Value;

use super::events::quoted;
use super::writer::Writer;
use crate::names::{CLUSTER_NAME, OWNED, UPGRADE_STEP};
use crate::object::key;

/// Sets labels, both references and the annotation with the step of an upgrade. Other fields belong to others.
///
/// # Errors
/// The Cluster cannot be written.
pub async fn apply(writer: &Writer<'_>, desired: &Value) -> Result<()> {
    let clusters = &writer.handles.clusters;
    let Some(read) = clusters.get(&key(desired)) else { return Ok(()) };
    let mut wanted = read.as_ref().clone();
    let labels = wanted.metadata.labels.get_or_insert_default();
    for label in [CLUSTER_NAME, OWNED] {
        let value = desired["metadata"]["labels"][label].as_str().unwrap_or_default();
        labels.insert(label.to_owned(), value.to_owned());
    }
    let step = desired["metadata"]["annotations"][UPGRADE_STEP].as_str();
    match (step, &mut wanted.metadata.annotations) {
        (Some(step), annotations) => {
            annotations.get_or_insert_default().insert(UPGRADE_STEP.to_owned(), step.to_owned());
        }
        (None, Some(annotations)) => drop(annotations.remove(UPGRADE_STEP)),
        (None, None) => {}
    }
    if let Some(reference) = reference(&desired["spec"]["infrastructureRef"])? {
        wanted.spec.infrastructure_ref = Some(reference);
    }
    if let Some(reference) = reference(&desired["spec"]["controlPlaneRef"])? {
        wanted.spec.control_plane_ref = Some(reference);
    }
    if wanted == *read {
        return Ok(());
    }
    clusters.patch(&read, &wanted, &[]).await?;
    let message = format!("Updated Cluster {}", quoted(desired));
    writer.handles.recorder.normal(read.as_ref(), &(), "TopologyUpdate", message);
    Ok(())
}

fn reference(value: &Value) -> Result<Option<ContractVersionedObjectReference>> {
    if value.is_null() {
        return Ok(None);
    }
    let parsed = serde_json::from_value(value.clone());
    parsed.map(Some).map_err(|error| Error::json("the references of the Cluster", error))
}
