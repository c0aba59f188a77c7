//! Apply requests.

use serde_json::Value;

use super::managed::{self, Managers, Operation, copy_without_managed_fields, with_managed_fields};
use super::updater::{self, Conflicts, Failure};
use super::writer::{Writer, without_unowned};
use super::{last_applied, validate};
use crate::meta;
use crate::status::Status;

/// The manager of the fields that exist before the first apply.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Applies `config` to `live`, both in the writer's version. For a creation, `live` has only `apiVersion` and `kind`.
///
/// Errors: 409 with one cause for each field that another manager owns with another value, unless `force` is set; 400
/// and 500 as in kube-apiserver for an invalid `config`.
pub fn apply(live: &Value, config: &Value, force: bool, writer: &Writer<'_>) -> Result<Value, Status> {
    if meta::api_version(config) != writer.api_version {
        return Err(Status::bad_request(format!(
            "Incorrect version specified in apply patch. Specified patch version: {}, expected: {}",
            meta::api_version(config),
            writer.api_version
        )));
    }
    if meta::at(config, &["metadata", "managedFields"]).is_some_and(|fields| !fields.is_null()) {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    let mut managers = managed::decode(meta::at(live, &["metadata", "managedFields"]))
        .map_err(|error| Status::generic(format!("failed to decode managed fields: {error}")))?;
    let live = copy_without_managed_fields(live);
    if managers.is_empty() {
        let empty = writer.empty_object(&live);
        writer.record(&empty, &live, &mut managers, BEFORE_FIRST_APPLY);
    }
    let new = if writer.manager == last_applied::KUBECTL {
        match try_apply(&live, config, managers.clone(), force, writer) {
            Err(Failure::Conflicts(conflicts)) => take_over(&live, config, managers, conflicts, writer),
            result => result,
        }
    } else {
        try_apply(&live, config, managers, force, writer)
    };
    let (new, managers) = new.map_err(status_of)?;
    let mut new = new.unwrap_or(live);
    if writer.manager == last_applied::KUBECTL {
        last_applied::refresh(&mut new, config);
    }
    Ok(with_managed_fields(new, &managers))
}

/// Retries the apply of `kubectl` if all conflicts are with its own client-side apply.
fn take_over(
    live: &Value,
    config: &Value,
    managers: Managers,
    conflicts: Conflicts,
    writer: &Writer<'_>,
) -> Result<(Option<Value>, Managers), Failure> {
    match last_applied::remaining_conflicts(&conflicts, live, writer.api_version, writer.root()) {
        Some(remaining) if remaining.is_empty() => try_apply(live, config, managers, true, writer),
        Some(remaining) => Err(Failure::Conflicts(remaining)),
        None => Err(Failure::Conflicts(conflicts)),
    }
}

fn try_apply(
    live: &Value,
    config: &Value,
    mut managers: Managers,
    force: bool,
    writer: &Writer<'_>,
) -> Result<(Option<Value>, Managers), Failure> {
    let root = writer.root();
    let about = |what: &str, object: &Value, error: String| {
        let (group, version) = meta::group_version(meta::api_version(object));
        format!(
            "failed to create typed {what} object ({}/{}; {group}/{version}, Kind={}): {error}",
            meta::namespace(object),
            meta::name(object),
            meta::kind(object)
        )
    };
    validate::validate(config, root, false).map_err(|error| about("patch", config, error))?;
    validate::validate(live, root, true).map_err(|error| about("live", live, error))?;
    if let Some(why) = managers.values().find_map(|owned| writer.versions.refusal(&owned.api_version)) {
        return Err(Failure::Other(why));
    }
    let id = writer.id(writer.manager, Operation::Apply);
    let new = writer.updater().apply(live, config, &mut managers, &id, force)?;
    if let Some(owned) = managers.get_mut(&id) {
        owned.set = without_unowned(std::mem::take(&mut owned.set));
        if new.is_some() {
            owned.time = Some(writer.now);
        }
        if owned.set.is_empty() {
            managers.remove(&id);
        }
    }
    Ok((new, managers))
}

fn status_of(failure: Failure) -> Status {
    match failure {
        Failure::Conflicts(conflicts) => {
            let (message, causes) = updater::conflict_message(&conflicts);
            Status::apply_conflict(message, &causes)
        }
        Failure::Other(message) => Status::generic(message),
    }
}
