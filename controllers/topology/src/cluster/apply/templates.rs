//! Applies templates. Their content never changes: a template with other content is a new one, so that the Machines made from the old one are
//! replaced.

use engine::{Error, Result};
use serde_json::Value;

use super::super::configuration::{self, FIELD_MANAGER};
use super::events::quoted;
use super::writer::{Change, Writer, cached};
use crate::names;
use crate::object::{key, kind, name};

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

/// Creates the template, gives it other labels and annotations, or rotates it: then `desired` gets a new name that begins with `prefix`.
///
/// # Errors
/// The API server's refusal; or the template has another kind than before, unless `kind_may_change`.
pub async fn apply(
    writer: &Writer<'_>,
    current: Option<&Value>,
    desired: &mut Value,
    prefix: &str,
    kind_may_change: bool,
) -> Result<Fate> {
    let Some(current) = current.filter(|current| !current.is_null()) else {
        writer.apply_object(None, desired).await?;
        return Ok(Fate::Created);
    };
    let changes = match configuration::incompatible(current, desired) {
        Some(problem) if !kind_may_change => return Err(Error::Failed(problem)),
        Some(_) => true,
        None => content_changes(writer, current, desired).await?,
    };
    if changes {
        rotate(writer, current, desired, prefix).await?;
        return Ok(Fate::Rotated);
    }
    let objects = writer.objects(desired).await?;
    if writer.apply(&objects, Some(current), desired).await? == Change::Updated {
        let message = format!("Updated {} {} (metadata changes)", kind(desired), quoted(desired));
        writer.event("TopologyUpdate", message);
    }
    Ok(Fate::Kept)
}

/// Creates the template under a new name.
async fn rotate(writer: &Writer<'_>, current: &Value, desired: &mut Value, prefix: &str) -> Result<()> {
    let mut random = || writer.handles.random.name_suffix();
    desired["metadata"]["name"] = names::with_prefix(prefix, None, &mut random).into();
    let objects = writer.objects(desired).await?;
    writer.apply(&objects, None, desired).await?;
    let (kind, created, before) = (kind(desired), quoted(desired), name(current));
    let message = format!("Created {kind} {created} as a replacement for \"{before}\" (template rotation)");
    writer.event("TopologyCreate", message);
    writer.applied.forget(current["metadata"]["uid"].as_str().unwrap_or_default());
    Ok(())
}

/// Returns whether an apply would change the spec of a template. The API server tells by a dry run, which fills in defaults, unless the
/// template is as it was applied last.
async fn content_changes(writer: &Writer<'_>, current: &Value, desired: &Value) -> Result<bool> {
    let objects = writer.objects(desired).await?;
    let key = key(current);
    let read = cached(&objects, current, &key)?;
    let configuration = configuration::of(desired, Some(current));
    if writer.applied.is_applied(&objects, FIELD_MANAGER, &read, &configuration)? {
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
