//! PriorityClasses.

use machinery::meta;
use serde_json::Value;

use crate::fields::forbidden;
use crate::strategy::Facts;
use crate::strategy::rules::{NONE, Rules};

/// The priority classes that every cluster has, with their priorities.
pub(crate) const PRIORITIES: [(&str, i64); 2] =
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

pub(crate) const GROUP: &str = "scheduling.k8s.io";
pub(crate) const CLASSES: &str = "priorityclasses";

/// Returns the class of pods that name none: of several, the one with the lowest priority.
pub(crate) fn default_class(facts: &dyn Facts) -> Option<Value> {
    let classes = facts.all(GROUP, CLASSES).into_iter().filter(|class| class["globalDefault"] == true);
    classes.min_by_key(|class| class["value"].as_i64().unwrap_or(0))
}

/// Refuses a second default class.
fn one_default(class: &Value, is_new: bool, facts: &dyn Facts) -> Result<(), String> {
    if class["globalDefault"] != true {
        return Ok(());
    }
    match default_class(facts).as_ref().map(meta::name) {
        Some(name) if is_new || name != meta::name(class) => {
            Err(format!("PriorityClass {name} is already marked as default. Only one default can exist"))
        }
        _ => Ok(()),
    }
}

/// The maximum priority of classes that users define.
const PRIORITY_MAX: i64 = 1_000_000_000;

/// `scheduling.k8s.io/v1` PriorityClass.
pub(crate) const PRIORITY: Rules = Rules {
    admit: |class, facts| one_default(class, true, facts),
    admit_update: |class, _, facts| one_default(class, false, facts),
    immutable: |class, old| {
        let same = class["value"] == old["value"];
        if same { Vec::new() } else { vec![forbidden("value", "may not be changed in an update.")] }
    },
    immutable_fields: &["preemptionPolicy"],
    prepare: |class| {
        if let Some(metadata) = meta::metadata_mut(class) {
            metadata.insert("generation".into(), 1.into());
        }
    },
    validate: |class| {
        let (name, value) = (meta::name(class), class["value"].as_i64().unwrap_or(0));
        if PRIORITIES.iter().any(|(known, _)| *known == name) {
            return Vec::new();
        }
        let mut errors = Vec::new();
        if name.starts_with("system-") {
            let why = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {name} is not a \
                 known system priority class"
            );
            errors.push(forbidden("metadata.name", why));
        }
        if value > PRIORITY_MAX {
            let why = format!("maximum allowed value of a user defined priority is {PRIORITY_MAX}");
            errors.push(forbidden("value", why));
        }
        errors
    },
    ..NONE
};
