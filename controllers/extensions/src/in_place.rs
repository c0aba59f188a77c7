//! Updates in place: whether the changes that an extension can make are all that a Machine, or the Machines of a MachineSet, need.
//!
//! The extension is sent the current and the wanted objects, and answers with patches for the current ones. Nothing is decided by what it says, only by what
//! the patched objects are: what they still lack needs new machines. All functions are pure.

mod difference;
mod patch;

use serde_json::{Map, Value, json};

use crate::answers::{MachinePatches, MachineSetPatches, Patch};

pub use difference::compared_machine_spec;

/// What patches for a Machine and its objects may change.
const SPEC: &[&str] = &["spec"];
/// What patches for a MachineSet and its templates may change.
const TEMPLATE_SPEC: &[&str] = &["spec", "template", "spec"];

/// A Machine or MachineSet with its objects or templates, each with `apiVersion` and `kind`.
#[derive(Debug, Clone, PartialEq)]
pub struct Objects {
    /// The Machine or MachineSet.
    pub machine: Value,
    /// The infrastructure machine, or the template for it; `None` if it does not exist.
    pub infrastructure: Option<Value>,
    /// The bootstrap configuration, or the template for it; `None` if there is no reference to one.
    pub bootstrap: Option<Value>,
}

/// Whether new machines are needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The extension can make all changes.
    InPlace,
    /// Machines are replaced. Says which fields are the reason, without their values.
    Rollout(Vec<String>),
}

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

fn decide(
    current: &Objects,
    desired: &Objects,
    [machine, infrastructure, bootstrap]: [Option<&Patch>; 3],
    path: &[&str],
) -> Result<Decision, String> {
    let mut reasons = Vec::new();
    let patched = patch::patched(&current.machine, machine, path)?;
    reasons.extend(difference::of_machine(&patched, &desired.machine, path));
    match (&current.infrastructure, &desired.infrastructure) {
        (Some(current), Some(desired)) => {
            let patched = patch::patched(current, infrastructure, path)?;
            reasons.extend(difference::of_provider(&patched, desired, path));
        }
        _ => reasons.push("the infrastructure does not exist".to_owned()),
    }
    match (&current.bootstrap, &desired.bootstrap) {
        (Some(current), Some(desired)) => {
            let patched = patch::patched(current, bootstrap, path)?;
            reasons.extend(difference::of_provider(&patched, desired, path));
        }
        (None, None) => {}
        _ => reasons.push("only one of both has a bootstrap configuration".to_owned()),
    }
    Ok(if reasons.is_empty() { Decision::InPlace } else { Decision::Rollout(reasons) })
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
