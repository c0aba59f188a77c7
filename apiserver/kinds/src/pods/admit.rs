//! Admission of pods: PriorityClasses and RuntimeClasses set the priority and the overhead.

use serde_json::{Map, Value};

use crate::priorities::priority_class::PRIORITIES;
use crate::strategy::Find;

/// Applies the admission by PriorityClass and RuntimeClass: sets priority, preemption policy and overhead, or returns
/// the refusal.
pub(crate) fn admit(pod: &mut Value, find: &Find<'_>) -> Result<(), String> {
    let Some(spec) = pod["spec"].as_object_mut() else { return Ok(()) };
    prioritize(spec, find)?;
    let given = spec.get("overhead").filter(|overhead| !crate::decode::empty(overhead)).cloned();
    let Some(name) = spec.get("runtimeClassName").and_then(Value::as_str) else {
        return match given {
            Some(_) => {
                Err("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
                    .into())
            }
            None => Ok(()),
        };
    };
    let Some(class) = find("node.k8s.io", "runtimeclasses", name) else {
        return Err(format!("pod rejected: RuntimeClass \"{name}\" not found"));
    };
    match (given, class["overhead"]["podFixed"].clone()) {
        (Some(_), Value::Null) => {
            Err("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead".into())
        }
        (Some(given), fixed) if given != fixed => {
            Err("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead".into())
        }
        (None, fixed) if !fixed.is_null() => {
            spec.insert("overhead".into(), fixed);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Sets priority and preemption policy from the PriorityClass. A pod without a class has priority 0.
fn prioritize(spec: &mut Map<String, Value>, find: &Find<'_>) -> Result<(), String> {
    const LOWER: &str = "PreemptLowerPriority";
    const WHY: &str = "must not be provided in pod spec; priority admission controller computed";
    let class = spec.get("priorityClassName").and_then(Value::as_str).unwrap_or_default();
    let known = PRIORITIES.iter().find(|(name, _)| *name == class).map(|(_, priority)| *priority);
    let (priority, policy) = match known {
        Some(priority) => (priority, LOWER.to_owned()),
        None if class.is_empty() => (0, LOWER.to_owned()),
        None => {
            let Some(found) = find("scheduling.k8s.io", "priorityclasses", class) else {
                return Err(format!("no PriorityClass with name {class} was found"));
            };
            let policy = found["preemptionPolicy"].as_str().unwrap_or(LOWER).to_owned();
            (found["value"].as_i64().unwrap_or(0), policy)
        }
    };
    let tail = "from the given PriorityClass name";
    if let Some(given) = spec.get("priority").and_then(Value::as_i64).filter(|given| *given != priority) {
        return Err(format!("the integer value of priority ({given}) {WHY} {priority} {tail}"));
    }
    if let Some(given) = spec.get("preemptionPolicy").and_then(Value::as_str).filter(|given| *given != policy)
    {
        return Err(format!("the string value of PreemptionPolicy ({given}) {WHY} {policy} {tail}"));
    }
    spec.insert("priority".into(), priority.into());
    spec.insert("preemptionPolicy".into(), policy.into());
    Ok(())
}
