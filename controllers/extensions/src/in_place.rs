//! Updates in place: whether the changes that an extension can make are all that a Machine, or the Machines of a MachineSet, need.
//!
//! The extension is sent the current and the wanted objects, and answers with patches for the current ones. Nothing is decided by what it says, only by what
//! the patched objects are: what they still lack needs new machines. All functions are pure.

mod patch;

use std::time::Duration;

use engine::in_place::{Progress, SPEC, TEMPLATE_SPEC};
use serde_json::{Map, Value, json};

use crate::answers::{MachinePatches, MachineSetPatches, Patch};

pub use engine::in_place::{Decision, Objects};

/// The request `CanUpdateMachine`.
pub fn machine_request(current: &Objects, desired: &Objects) -> Value {
    request(current, desired, ["machine", "infrastructureMachine", "bootstrapConfig"])
}

/// The request `CanUpdateMachineSet`.
pub fn machine_set_request(current: &Objects, desired: &Objects) -> Value {
    request(current, desired, ["machineSet", "infrastructureMachineTemplate", "bootstrapConfigTemplate"])
}

/// The request `UpdateMachine`.
pub fn update_request(desired: &Objects) -> Value {
    json!({"desired": sent(desired, ["machine", "infrastructureMachine", "bootstrapConfig"])})
}

/// Returns what an answer to `UpdateMachine` says.
pub fn progress(answer: &Value) -> Progress {
    match answer["retryAfterSeconds"].as_u64().unwrap_or_default() {
        0 => Progress::Done,
        seconds => Progress::Waits {
            message: answer["message"].as_str().unwrap_or_default().to_owned(),
            retry_after: Duration::from_secs(seconds),
        },
    }
}

/// Decides about a Machine.
///
/// # Errors
/// A patch of the extension does not fit.
pub fn of_machine(
    current: &Objects,
    desired: &Objects,
    patches: &MachinePatches,
) -> Result<Decision, String> {
    let MachinePatches { machine_patch, infrastructure_machine_patch, bootstrap_config_patch } = patches;
    let patches = [machine_patch, infrastructure_machine_patch, bootstrap_config_patch].map(Option::as_ref);
    decide(current, desired, patches, SPEC)
}

/// Decides about the Machines of a MachineSet.
///
/// # Errors
/// A patch of the extension does not fit.
pub fn of_machine_set(
    current: &Objects,
    desired: &Objects,
    patches: &MachineSetPatches,
) -> Result<Decision, String> {
    let MachineSetPatches {
        machine_set_patch,
        infrastructure_machine_template_patch,
        bootstrap_config_template_patch,
    } = patches;
    let patches = [machine_set_patch, infrastructure_machine_template_patch, bootstrap_config_template_patch];
    decide(current, desired, patches.map(Option::as_ref), TEMPLATE_SPEC)
}

/// Applies the patches, each below `path`, and decides by what the patched objects still lack.
fn decide(
    current: &Objects,
    desired: &Objects,
    [machine, infrastructure, bootstrap]: [Option<&Patch>; 3],
    path: &[&str],
) -> Result<Decision, String> {
    let patched = |object: &Option<Value>, patch| {
        object.as_ref().map(|object| patch::patched(object, patch, path)).transpose()
    };
    let reachable = Objects {
        machine: patch::patched(&current.machine, machine, path)?,
        infrastructure: patched(&current.infrastructure, infrastructure)?,
        bootstrap: patched(&current.bootstrap, bootstrap)?,
    };
    Ok(engine::in_place::decide(&reachable, desired, path))
}

fn request(current: &Objects, desired: &Objects, names: [&str; 3]) -> Value {
    json!({"current": sent(current, names), "desired": sent(desired, names)})
}

fn sent(objects: &Objects, names: [&str; 3]) -> Value {
    let all = [Some(&objects.machine), objects.infrastructure.as_ref(), objects.bootstrap.as_ref()];
    let named =
        names.into_iter().zip(all).filter_map(|(name, object)| Some((name.to_owned(), cleaned(object?))));
    Value::Object(named.collect())
}

/// Returns an object as extensions see it: identity, labels, annotations and spec, no status and no bookkeeping.
fn cleaned(object: &Value) -> Value {
    let picked = |from: &Value, names: &[&str]| -> Map<String, Value> {
        let fields = names.iter().filter_map(|name| Some(((*name).to_owned(), from.get(name)?.clone())));
        fields.filter(|(_, value)| !value.is_null()).collect()
    };
    let metadata = object.get("metadata").unwrap_or(&Value::Null);
    let mut cleaned = picked(object, &["apiVersion", "kind", "spec"]);
    let metadata = picked(metadata, &["name", "namespace", "labels", "annotations"]);
    cleaned.insert("metadata".to_owned(), metadata.into());
    Value::Object(cleaned)
}
