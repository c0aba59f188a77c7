//! Compares what somebody can make of the current objects with the desired ones.

use serde_json::Value;

use super::{Decision, Objects};

/// The part of a Machine and its objects that is compared.
pub const SPEC: &[&str] = &["spec"];
/// The part of a MachineSet and its templates that is compared.
pub const TEMPLATE_SPEC: &[&str] = &["spec", "template", "spec"];
/// Fields of a Machine's spec that are no reason for an update: they never change, or reach a machine in another way.
const IGNORED: &[&str] = &[
    "clusterName",
    "bootstrap",
    "infrastructureRef",
    "providerID",
    "minReadySeconds",
    "readinessGates",
    "taints",
];
/// The same, below `deletion`.
const IGNORED_OF_DELETION: &[&str] =
    &["nodeDrainTimeoutSeconds", "nodeVolumeDetachTimeoutSeconds", "nodeDeletionTimeoutSeconds"];
/// How many fields of an object are named.
const NAMED: usize = 5;

/// Decides by what `reachable`, the current objects with all changes that can be made in place, still lacks below `path`. Pure function.
pub fn decide(reachable: &Objects, desired: &Objects, path: &[&str]) -> Decision {
    let mut reasons: Vec<String> =
        of_machine(&reachable.machine, &desired.machine, path).into_iter().collect();
    match (&reachable.infrastructure, &desired.infrastructure) {
        (Some(reachable), Some(desired)) => reasons.extend(of_provider(reachable, desired, path)),
        _ => reasons.push("the infrastructure does not exist".to_owned()),
    }
    match (&reachable.bootstrap, &desired.bootstrap) {
        (Some(reachable), Some(desired)) => reasons.extend(of_provider(reachable, desired, path)),
        (None, None) => {}
        _ => reasons.push("only one of both has a bootstrap configuration".to_owned()),
    }
    if reasons.is_empty() { Decision::InPlace } else { Decision::Rollout(reasons) }
}

/// Returns the part of a Machine's spec that is compared.
fn compared_machine_spec(spec: &Value) -> Value {
    let mut spec = spec.clone();
    if let Some(fields) = spec.as_object_mut() {
        fields.retain(|name, _| !IGNORED.contains(&name.as_str()));
    }
    if let Some(deletion) = spec.get_mut("deletion").and_then(Value::as_object_mut) {
        deletion.retain(|name, _| !IGNORED_OF_DELETION.contains(&name.as_str()));
    }
    without_empty(spec)
}

/// Compares Machines, or MachineSets.
fn of_machine(patched: &Value, desired: &Value, path: &[&str]) -> Option<String> {
    let compared = |object: &Value| compared_machine_spec(below(object, path));
    found(desired, path, &compared(patched), &compared(desired))
}

/// Compares objects of a provider. It alone knows which fields mean the same when they are empty and absent.
fn of_provider(patched: &Value, desired: &Value, path: &[&str]) -> Option<String> {
    found(desired, path, below(patched, path), below(desired, path))
}

fn below<'a>(object: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().try_fold(object, |value, name| value.get(name)).unwrap_or(&Value::Null)
}

/// Removes what means the same as being absent in a typed object.
fn without_empty(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| (name, without_empty(value)));
            Value::Object(fields.filter(|(_, value)| !is_empty(value)).collect())
        }
        other => other,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

fn found(object: &Value, path: &[&str], patched: &Value, desired: &Value) -> Option<String> {
    let mut fields = Vec::new();
    collect(&path.join("."), patched, desired, &mut fields);
    if fields.is_empty() {
        return None;
    }
    let more = if fields.len() > NAMED { ", …" } else { "" };
    fields.truncate(NAMED);
    let kind = object["kind"].as_str().unwrap_or_default();
    Some(format!("{kind}: {}{more}", fields.join(", ")))
}

/// Collects the paths of the fields that differ, one more than are named.
fn collect(path: &str, a: &Value, b: &Value, fields: &mut Vec<String>) {
    if a == b || fields.len() > NAMED {
        return;
    }
    let (Value::Object(left), Value::Object(right)) = (a, b) else {
        fields.push(path.to_owned());
        return;
    };
    let others = right.keys().filter(|name| !left.contains_key(*name));
    for name in left.keys().chain(others) {
        let value = |fields: &serde_json::Map<String, Value>| fields.get(name).cloned();
        match (value(left), value(right)) {
            (Some(a), Some(b)) => collect(&format!("{path}.{name}"), &a, &b, fields),
            _ if fields.len() <= NAMED => fields.push(format!("{path}.{name}")),
            _ => {}
        }
    }
}
