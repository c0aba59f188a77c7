//! The MachinePools of a topology with their bootstrap and infrastructure objects. These are objects and no templates, so they change in place.

use std::collections::BTreeMap;

use engine::object::{is_deleting, uid};
use engine::{Error, NamespacedName, Result};
use schemas::cluster::{Cluster, MachinePool};
use serde_json::Value;

use super::super::observe::{Observed, TopologyController};
use super::super::plan::Decision;
use super::events::{quoted, version_change};
use super::objects::Change;
use crate::{DesiredWorkers, Workers};

impl TopologyController {
    /// Creates, changes and deletes MachinePools.
    ///
    /// # Errors
    /// The first step that failed.
    pub(super) async fn apply_machine_pools(
        &self,
        observed: &Observed,
        decision: &Decision,
        desired: &BTreeMap<String, DesiredWorkers>,
    ) -> Result<()> {
        let (cluster, existing) = (&observed.current.cluster, &observed.current.machine_pools);
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
                self.apply_pool(cluster, current, workers).await?;
            }
        }
        for (_, current) in existing.iter().filter(|(name, _)| !desired.contains_key(*name)) {
            self.memory.of(cluster).applied.forget(uid(current.object.as_ref()));
            if !is_deleting(current.object.as_ref()) {
                self.pools.delete(current.object.as_ref()).await?;
                let name = NamespacedName::of(current.object.as_ref());
                self.event(cluster, "TopologyDelete", format!("Deleted MachinePool \"{name}\""));
            }
        }
        Ok(())
    }

    /// Applies a MachinePool and its objects. Objects that were created for nothing are deleted.
    async fn apply_pool(
        &self,
        cluster: &Cluster,
        current: Option<&Workers<MachinePool>>,
        desired: &DesiredWorkers,
    ) -> Result<()> {
        let old = current.map(|current| &current.infrastructure_template);
        let infrastructure = self.apply_object(cluster, old, &desired.infrastructure_template).await?;
        let old = current.map(|current| &current.bootstrap_template);
        let bootstrap = self.apply_object(cluster, old, &desired.bootstrap_template).await;
        let applied = match &bootstrap {
            Ok(_) => self.apply_pool_itself(cluster, current, &desired.object).await,
            Err(_) => Ok(()),
        };
        let mut unused = Vec::new();
        if bootstrap.is_err() || applied.is_err() {
            let created = |change: &Change| *change == Change::Created;
            unused.extend(created(&infrastructure).then_some(&desired.infrastructure_template));
            unused.extend(bootstrap.as_ref().is_ok_and(created).then_some(&desired.bootstrap_template));
        }
        self.clean_up(cluster, &unused).await;
        bootstrap.and(applied)
    }

    async fn apply_pool_itself(
        &self,
        cluster: &Cluster,
        current: Option<&Workers<MachinePool>>,
        desired: &Value,
    ) -> Result<()> {
        let before = current.map(|current| serde_json::to_value(current.object.as_ref())).transpose();
        let before = before.map_err(|error| Error::json("read a MachinePool", error))?;
        let name = quoted(desired);
        match self.apply_to(cluster, &self.pools, before.as_ref(), desired).await? {
            Change::Created => self.event(cluster, "TopologyCreate", format!("Created MachinePool {name}")),
            Change::Updated => {
                let before = current.and_then(|current| current.object.spec.template.spec.version.as_deref());
                let after = desired.pointer("/spec/template/spec/version").and_then(Value::as_str);
                let versions = version_change(before, after);
                self.event(cluster, "TopologyUpdate", format!("Updated MachinePool {name}{versions}"));
            }
            Change::None => {}
        }
        Ok(())
    }
}
