//! The MachinePools of a topology with their bootstrap and infrastructure objects. These are objects and no templates, so they change in place.

use std::collections::BTreeMap;

use engine::Result;
use engine::object::is_deleting;
use schemas::cluster::MachinePool;

use super::super::observed::Observed;
use super::super::plan::Decision;
use super::writer::{Change, Writer};
use crate::{DesiredWorkers, Workers};

/// Creates, changes and deletes MachinePools.
///
/// # Errors
/// The first step that failed.
pub async fn apply(
    writer: &Writer<'_>,
    observed: &Observed,
    decision: &Decision,
    desired: &BTreeMap<String, DesiredWorkers>,
) -> Result<()> {
    let existing = &observed.current.machine_pools;
    let versions = &decision.versions.machine_pools;
    for (name, workers) in desired {
        let current = existing.get(name);
        let waits = current.map_or_else(
            || versions.pending_create.contains(name),
            |current| {
                let name = current.object.metadata.name.as_deref().unwrap_or_default();
                is_deleting(current.object.as_ref()) || versions.pending_upgrade.contains(name)
            },
        );
        if !waits {
            apply_pool(writer, current, workers).await?;
        }
    }
    for (_, current) in existing.iter().filter(|(name, _)| !desired.contains_key(*name)) {
        writer.delete_workers(&writer.handles.pools, current.object.as_ref()).await?;
    }
    Ok(())
}

/// Applies a MachinePool and its objects. Objects that were created for nothing are deleted.
async fn apply_pool(
    writer: &Writer<'_>,
    current: Option<&Workers<MachinePool>>,
    desired: &DesiredWorkers,
) -> Result<()> {
    let old = current.map(|current| &current.infrastructure_template);
    let infrastructure = writer.apply_object(old, &desired.infrastructure_template).await?;
    let old = current.map(|current| &current.bootstrap_template);
    let bootstrap = writer.apply_object(old, &desired.bootstrap_template).await;
    let applied = match &bootstrap {
        Ok(_) => writer.apply_workers(&writer.handles.pools, current, &desired.object).await,
        Err(_) => Ok(()),
    };
    let mut unused = Vec::new();
    if bootstrap.is_err() || applied.is_err() {
        let created = |change: &Change| *change == Change::Created;
        unused.extend(created(&infrastructure).then_some(&desired.infrastructure_template));
        unused.extend(bootstrap.as_ref().is_ok_and(created).then_some(&desired.bootstrap_template));
    }
    writer.clean_up(&unused).await;
    bootstrap.and(applied)
}
