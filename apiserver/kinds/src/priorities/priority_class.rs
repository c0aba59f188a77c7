//! PriorityClasses.

use machinery::meta;

use crate::fields::forbidden;
use crate::strategy::rules::{NONE, Rules};

/// The priority classes that every cluster has, with their priorities.
pub(crate) const PRIORITIES: [(&str, i64); 2] =
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

/// The maximum priority of classes that users define.
const PRIORITY_MAX: i64 = 1_000_000_000;

/// `scheduling.k8s.io/v1` PriorityClass.
pub(crate) const PRIORITY: Rules = Rules {
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
