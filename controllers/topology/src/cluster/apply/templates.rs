//! Applies templates. Their content never changes: a template with other content is a new one, so that the Machines made from the old one are
//! replaced.

use engine::{Error, Result};
use schemas::cluster::Cluster;
use serde_json::Value;

use super::super::configuration::{self, FIELD_MANAGER};
use super::super::observe::{TopologyController, version_and_kind};
use super::events::quoted;
use super::objects::{Change, key_of};
use crate::names;

/// The fate of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It did not exist, and was created.
    Created,
    /// Its content changed: a new one was created, whose name `desired` now has.
    Rotated,
    /// It stays, perhaps with other labels or annotations.
    Kept,
}

impl TopologyController {
    /// Creates the template, gives it other labels and annotations, or rotates it: then `desired` gets a new name that begins with `prefix`.
    ///
    /// # Errors
    /// The API server's refusal; or the template has another kind than before, unless `kind_may_change`.
    pub(super) async fn apply_template(
        &self,
        cluster: &Cluster,
        current: Option<&Value>,
        desired: &mut Value,
        prefix: &str,
        kind_may_change: bool,
    ) -> Result<Fate> {
        let Some(current) = current.filter(|current| !current.is_null()) else {
            self.create(cluster, desired).await?;
            return Ok(Fate::Created);
        };
        let changes = match configuration::incompatible(current, desired) {
            Some(problem) if !kind_may_change => return Err(Error::Failed(problem)),
            Some(_) => true,
            None => self.content_changes(cluster, current, desired).await?,
        };
        if changes {
            self.rotate(cluster, current, desired, prefix).await?;
            return Ok(Fate::Rotated);
        }
        let (version, kind) = version_and_kind(desired);
        let objects = self.external.objects_at(version, kind).await?;
        if self.apply_to(cluster, &objects, Some(current), desired).await? == Change::Updated {
            let message = format!("Updated {kind} {} (metadata changes)", quoted(desired));
            self.event(cluster, "TopologyUpdate", message);
        }
        Ok(Fate::Kept)
    }

    /// Creates the template under a new name.
    async fn rotate(
        &self,
        cluster: &Cluster,
        current: &Value,
        desired: &mut Value,
        prefix: &str,
    ) -> Result<()> {
        let mut random = || self.manager.random().name_suffix();
        desired["metadata"]["name"] = names::with_prefix(prefix, None, &mut random).into();
        let (version, kind) = version_and_kind(desired);
        let objects = self.external.objects_at(version, kind).await?;
        self.apply_to(cluster, &objects, None, desired).await?;
        let (created, before) = (quoted(desired), key_of(current).name);
        let message =
            format!("Created {kind} {created} as a replacement for \"{before}\" (template rotation)");
        self.event(cluster, "TopologyCreate", message);
        self.memory.of(cluster).applied.forget(current["metadata"]["uid"].as_str().unwrap_or_default());
        Ok(())
    }

    /// Returns whether an apply would change the spec of a template. The API server tells by a dry run, which fills in defaults, unless the
    /// template is as it was applied last.
    async fn content_changes(&self, cluster: &Cluster, current: &Value, desired: &Value) -> Result<bool> {
        let (version, kind) = version_and_kind(desired);
        let objects = self.external.objects_at(version, kind).await?;
        let key = key_of(current);
        let read = self.cached(&objects, current, &key)?;
        let configuration = configuration::of(desired, Some(current));
        if objects.is_applied_value(&self.memory.of(cluster).applied, FIELD_MANAGER, &read, &configuration)? {
            return Ok(false);
        }
        let dry_run = configuration::for_dry_run(&configuration);
        let after = objects.apply_dry_run(FIELD_MANAGER, &key, dry_run).await?;
        if after["spec"] == current["spec"] {
            return Ok(false);
        }
        // A default that is new since the template was stored is not a change.
        let dry_run = configuration::for_dry_run(&configuration::of(current, Some(current)));
        let before = objects.apply_dry_run(FIELD_MANAGER, &key, dry_run).await?;
        Ok(after["spec"] != before["spec"])
    }
}
