//! Admission of pods: PriorityClasses and RuntimeClasses set the priority and the overhead.

use machinery::meta;
use serde_json::{Map, Value, json};

use super::defaults::tolerate;
use crate::priorities::priority_class::{CLASSES, GROUP, PRIORITIES, default_class};
use crate::strategy::Facts;

/// Applies the admission by PriorityClass and RuntimeClass: sets priority, preemption policy, tolerations and overhead, or returns the
/// refusal.
pub(crate) fn admit(pod: &mut Value, facts: &dyn Facts) -> Result<(), String> {
    if let Some(spec) = pod["spec"].as_object_mut() {
        prioritize(spec, facts)?;
    }
    tolerate(&mut pod["spec"]);
    let Some(spec) = pod["spec"].as_object_mut() else { return Ok(()) };
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
    let Some(class) = facts.find("node.k8s.io", "runtimeclasses", name) else {
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

/// Sets priority and preemption policy from the PriorityClass, or from the one that is the default.
fn prioritize(spec: &mut Map<String, Value>, facts: &dyn Facts) -> Result<(), String> {
    const LOWER: &str = "PreemptLowerPriority";
    const WHY: &str = "must not be provided in pod spec; priority admission controller computed";
    let class = spec.get("priorityClassName").and_then(Value::as_str).unwrap_or_default().to_owned();
    let known = PRIORITIES.iter().find(|(name, _)| *name == class).map(|(_, priority)| *priority);
    let found = match known {
        Some(priority) => Some(json!({"value": priority})),
        None if class.is_empty() => default_class(facts),
        None => match facts.find(GROUP, CLASSES, &class) {
            None => return Err(format!("no PriorityClass with name {class} was found")),
            found => found,
        },
    };
    let found = found.unwrap_or_default();
    let priority = found["value"].as_i64().unwrap_or(0);
    let policy = found["preemptionPolicy"].as_str().unwrap_or(LOWER);
    let tail = "from the given PriorityClass name";
    if let Some(given) = spec.get("priority").and_then(Value::as_i64).filter(|given| *given != priority) {
        return Err(format!("the integer value of priority ({given}) {WHY} {priority} {tail}"));
    }
    if let Some(given) = spec.get("preemptionPolicy").and_then(Value::as_str).filter(|given| *given != policy)
    {
        return Err(format!("the string value of PreemptionPolicy ({given}) {WHY} {policy} {tail}"));
    }
    if class.is_empty() && !meta::name(&found).is_empty() {
        spec.insert("priorityClassName".into(), meta::name(&found).into());
    }
    spec.insert("priority".into(), priority.into());
    spec.insert("preemptionPolicy".into(), policy.into());
    Ok(())
}
