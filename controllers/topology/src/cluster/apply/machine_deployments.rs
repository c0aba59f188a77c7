//! The MachineDeployments of a topology, their templates and their health checks.

use std::collections::BTreeMap;

use engine::Result;
use engine::object::is_deleting;
use schemas::cluster::MachineDeployment;
use serde_json::Value;

use super::super::observed::Observed;
use super::super::plan::Decision;
use super::health_check;
use super::templates::{self, Fate};
use super::writer::Writer;
use crate::{DesiredWorkers, Workers};

/// Creates, changes and deletes MachineDeployments.
///
/// # Errors
/// The first step that failed.
pub async fn apply(
    writer: &Writer<'_>,
    observed: &Observed,
    decision: &Decision,
    desired: &mut BTreeMap<String, DesiredWorkers>,
) -> Result<()> {
    let existing = &observed.current.machine_deployments;
    let versions = &decision.versions.machine_deployments;
    for (name, workers) in desired.iter_mut().filter(|(name, _)| !existing.contains_key(*name)) {
        if !versions.pending_create.contains(name) {
            apply_workers(writer, name, None, workers).await?;
            health_check::apply(writer, None, workers.health_check.as_ref()).await?;
        }
    }
    for (name, current) in existing {
        let Some(workers) = desired.get_mut(name) else { continue };
        health_check::apply(writer, current.health_check.as_ref(), workers.health_check.as_ref()).await?;
        let object_name = current.object.metadata.name.as_deref().unwrap_or_default();
        // While it waits for its next version, nothing else changes: otherwise its Machines would be replaced twice.
        if !is_deleting(current.object.as_ref()) && !versions.pending_upgrade.contains(object_name) {
            apply_workers(writer, name, Some(current), workers).await?;
        }
    }
    for (_, current) in existing.iter().filter(|(name, _)| !desired.contains_key(*name)) {
        health_check::apply(writer, current.health_check.as_ref(), None).await?;
        writer.delete_workers(&writer.handles.deployments, current.object.as_ref()).await?;
    }
    Ok(())
}

/// Applies a MachineDeployment and its templates. Templates that were created for nothing are deleted.
async fn apply_workers(
    writer: &Writer<'_>,
    topology_name: &str,
    current: Option<&Workers<MachineDeployment>>,
    desired: &mut DesiredWorkers,
) -> Result<()> {
    let prefix = format!("{}-{topology_name}-", writer.cluster.metadata.name.as_deref().unwrap_or_default());
    let old = current.map(|current| &current.infrastructure_template);
    let infrastructure =
        templates::apply(writer, old, &mut desired.infrastructure_template, &prefix, false).await?;
    let old = current.map(|current| &current.bootstrap_template);
    let bootstrap = templates::apply(writer, old, &mut desired.bootstrap_template, &prefix, true).await;
    let applied = match &bootstrap {
        Ok(_) => {
            set_templates(desired);
            writer.apply_workers(&writer.handles.deployments, current, &desired.object).await
        }
        Err(_) => Ok(()),
    };
    let mut unused = Vec::new();
    if bootstrap.is_err() || applied.is_err() {
        let created = |fate: &Fate| *fate != Fate::Kept;
        unused.extend(created(&infrastructure).then_some(&desired.infrastructure_template));
        unused.extend(bootstrap.as_ref().is_ok_and(created).then_some(&desired.bootstrap_template));
    }
    writer.clean_up(&unused).await;
    bootstrap.and(applied)
}

/// Makes the MachineDeployment refer to its templates, of which some may have new names and another kind.
fn set_templates(desired: &mut DesiredWorkers) {
    let names = [
        ("/spec/template/spec/bootstrap/configRef", &desired.bootstrap_template),
        ("/spec/template/spec/infrastructureRef", &desired.infrastructure_template),
    ];
    for (path, template) in names {
        if let Some(Value::Object(reference)) = desired.object.pointer_mut(path) {
            reference.insert("name".to_owned(), template["metadata"]["name"].clone());
        }
    }
}
