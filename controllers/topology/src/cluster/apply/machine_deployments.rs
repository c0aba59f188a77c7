//! The MachineDeployments of a topology, their templates and their health checks.

use std::collections::BTreeMap;

use engine::object::{is_deleting, uid};
use engine::{Error, Result};
use schemas::cluster::{Cluster, MachineDeployment};
use serde_json::Value;

use super::super::observe::{Observed, TopologyController};
use super::super::plan::Decision;
use super::events::{quoted, version_change};
use super::objects::Change;
use super::templates::Fate;
use crate::{DesiredWorkers, Workers};

impl TopologyController {
    /// Creates, changes and deletes MachineDeployments.
    ///
    /// # Errors
    /// The first step that failed.
    pub(super) async fn apply_machine_deployments(
        &self,
        observed: &Observed,
        decision: &Decision,
        desired: &mut BTreeMap<String, DesiredWorkers>,
    ) -> Result<()> {
        let cluster = &observed.current.cluster;
        let existing = &observed.current.machine_deployments;
        let versions = &decision.versions.machine_deployments;
        for (name, workers) in desired.iter_mut().filter(|(name, _)| !existing.contains_key(*name)) {
            if !versions.pending_create.contains(name) {
                self.apply_workers(cluster, name, None, workers).await?;
                self.apply_health_check(cluster, None, workers.health_check.as_ref()).await?;
            }
        }
        for (name, current) in existing {
            let Some(workers) = desired.get_mut(name) else { continue };
            self.apply_health_check(cluster, current.health_check.as_ref(), workers.health_check.as_ref())
                .await?;
            let object_name = current.object.metadata.name.as_deref().unwrap_or_default();
            // While it waits for its next version, nothing else changes: otherwise its Machines would be replaced twice.
            if !is_deleting(current.object.as_ref()) && !versions.pending_upgrade.contains(object_name) {
                self.apply_workers(cluster, name, Some(current), workers).await?;
            }
        }
        for (_, current) in existing.iter().filter(|(name, _)| !desired.contains_key(*name)) {
            self.apply_health_check(cluster, current.health_check.as_ref(), None).await?;
            self.delete_deployment(cluster, &current.object).await?;
        }
        Ok(())
    }

    /// Applies a MachineDeployment and its templates. Templates that were created for nothing are deleted.
    async fn apply_workers(
        &self,
        cluster: &Cluster,
        topology_name: &str,
        current: Option<&Workers<MachineDeployment>>,
        desired: &mut DesiredWorkers,
    ) -> Result<()> {
        let prefix = format!("{}-{topology_name}-", cluster.metadata.name.as_deref().unwrap_or_default());
        let old = current.map(|current| &current.infrastructure_template);
        let infrastructure =
            self.apply_template(cluster, old, &mut desired.infrastructure_template, &prefix, false).await?;
        let old = current.map(|current| &current.bootstrap_template);
        let bootstrap =
            self.apply_template(cluster, old, &mut desired.bootstrap_template, &prefix, true).await;
        let applied = match &bootstrap {
            Ok(_) => {
                set_templates(desired);
                self.apply_deployment(cluster, current, &desired.object).await
            }
            Err(_) => Ok(()),
        };
        let mut unused = Vec::new();
        if bootstrap.is_err() || applied.is_err() {
            let created = |fate: &Fate| *fate != Fate::Kept;
            unused.extend(created(&infrastructure).then_some(&desired.infrastructure_template));
            unused.extend(bootstrap.as_ref().is_ok_and(created).then_some(&desired.bootstrap_template));
        }
        self.clean_up(cluster, &unused).await;
        bootstrap.and(applied)
    }

    async fn apply_deployment(
        &self,
        cluster: &Cluster,
        current: Option<&Workers<MachineDeployment>>,
        desired: &Value,
    ) -> Result<()> {
        let before = current.map(|current| serde_json::to_value(current.object.as_ref())).transpose();
        let before = before.map_err(|error| Error::json("read a MachineDeployment", error))?;
        let name = quoted(desired);
        match self.apply_to(cluster, &self.deployments, before.as_ref(), desired).await? {
            Change::Created => {
                self.event(cluster, "TopologyCreate", format!("Created MachineDeployment {name}"));
            }
            Change::Updated => {
                let before = current.and_then(|current| current.object.spec.template.spec.version.as_deref());
                let after = desired.pointer("/spec/template/spec/version").and_then(Value::as_str);
                let versions = version_change(before, after);
                self.event(cluster, "TopologyUpdate", format!("Updated MachineDeployment {name}{versions}"));
            }
            Change::None => {}
        }
        Ok(())
    }

    async fn delete_deployment(&self, cluster: &Cluster, deployment: &MachineDeployment) -> Result<()> {
        self.memory.of(cluster).applied.forget(uid(deployment));
        if is_deleting(deployment) {
            return Ok(());
        }
        self.deployments.delete(deployment).await?;
        let name = engine::NamespacedName::of(deployment);
        self.event(cluster, "TopologyDelete", format!("Deleted MachineDeployment \"{name}\""));
        Ok(())
    }
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
