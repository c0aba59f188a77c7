//! Determines the wanted form of an object at the target. Pure.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::inventory::Item;
use crate::journal::{Before, State};
use crate::names;
use crate::plan::Plan;

/// Metadata that each server sets itself; a write with another server's values would be refused.
const OF_THE_SOURCE: &[&str] = &[
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "selfLink",
    "generateName",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

/// The UIDs of objects at both servers.
#[derive(Debug, Clone, Default)]
pub struct Identities {
    /// The UID at the target by the UID at the source.
    pub at_target: HashMap<String, String>,
    /// The UIDs at the source of all objects that move.
    pub moving: HashSet<String>,
}

impl Identities {
    /// Adds what a plan and a journal say.
    pub fn learn(&mut self, plan: &Plan, state: &State) {
        for step in plan.steps() {
            self.moving.insert(step.uid.clone());
            let there = state.copied.get(&step.object).or_else(|| state.left.get(&step.object));
            if let Some(there) = there {
                self.at_target.insert(step.uid.clone(), there.clone());
            }
        }
    }
}

/// The wanted form of an object at the target.
#[derive(Debug, Clone)]
pub struct Desired {
    /// The object as it is created: paused, with rewritten owner references, without server-set metadata, but with its status.
    pub object: Value,
    /// The field managers at the source before the pivot.
    pub managed_fields: Value,
    /// The generation at the source.
    pub generation: i64,
    /// Whether some owners do not exist at the target yet, because objects own each other.
    pub waits_for_owners: bool,
}

/// Returns the wanted form of `item` at the target. `before` is its state before it was paused.
pub fn desired(item: &Item, before: Option<&Before>, identities: &Identities) -> Desired {
    let mut object = item.object.value();
    let key = &item.object.key;
    let mut waits_for_owners = false;
    let mut managed_fields = Value::Null;
    let mut generation = 0;
    if let Some(metadata) = object["metadata"].as_object_mut() {
        generation = metadata.get("generation").and_then(Value::as_i64).unwrap_or(0);
        managed_fields = metadata.remove("managedFields").unwrap_or_default();
        metadata.retain(|name, _| !OF_THE_SOURCE.contains(&name.as_str()));
        if let Some(Value::Array(owners)) = metadata.remove("ownerReferences") {
            let mut kept = Vec::with_capacity(owners.len());
            for mut owner in owners {
                let uid = owner["uid"].as_str().unwrap_or_default();
                if let Some(there) = identities.at_target.get(uid) {
                    owner["uid"] = there.clone().into();
                    kept.push(owner);
                } else {
                    waits_for_owners |= identities.moving.contains(uid);
                }
            }
            if !kept.is_empty() {
                metadata.insert("ownerReferences".into(), kept.into());
            }
        }
        for field in ["annotations", "labels"] {
            if let Some(entries) = metadata.get_mut(field).and_then(Value::as_object_mut) {
                entries.retain(|name, _| !names::OF_THE_PIVOT.contains(&name.as_str()));
            }
        }
    }
    if let Some(before) = before {
        managed_fields = before.managed_fields.clone();
        pause(key.is_cluster(), &mut object);
    }
    let managed_fields = with_owners_of_target(managed_fields, identities);
    Desired { object, managed_fields, generation, waits_for_owners }
}

/// Rewrites the owner references in managed fields, which contain the UID of the owner, to the target's UIDs.
pub fn with_owners_of_target(managed_fields: Value, identities: &Identities) -> Value {
    const OWNERS: &str = "/fieldsV1/f:metadata/f:ownerReferences";
    let Value::Array(mut entries) = managed_fields else { return managed_fields };
    for entry in &mut entries {
        let Some(Value::Object(owners)) = entry.pointer_mut(OWNERS) else { continue };
        for (name, fields) in std::mem::take(owners) {
            let uid = name.strip_prefix("k:{\"uid\":\"").and_then(|rest| rest.strip_suffix("\"}"));
            let name = match uid.and_then(|uid| identities.at_target.get(uid)) {
                Some(there) => format!("k:{{\"uid\":\"{there}\"}}"),
                None => name,
            };
            owners.insert(name, fields);
        }
    }
    Value::Array(entries)
}

fn pause(is_cluster: bool, object: &mut Value) {
    if is_cluster {
        object["spec"]["paused"] = true.into();
    } else {
        if !object["metadata"]["annotations"].is_object() {
            object["metadata"]["annotations"] = json!({});
        }
        object["metadata"]["annotations"][names::PAUSED] = "".into();
    }
}

impl Desired {
    /// Returns the field manager with which the object is created. If the object has only one manager, its managed fields need no
    /// correction afterwards.
    pub fn manager(&self) -> &str {
        self.manager_of(|subresource| subresource.is_empty())
    }

    /// Returns the field manager with which the status is written.
    pub fn status_manager(&self) -> &str {
        self.manager_of(|subresource| subresource == "status")
    }

    fn manager_of(&self, subresource: impl Fn(&str) -> bool) -> &str {
        let entries = self.managed_fields.as_array().map(Vec::as_slice).unwrap_or_default();
        entries
            .iter()
            .find(|entry| {
                entry["operation"] == "Update"
                    && subresource(entry["subresource"].as_str().unwrap_or_default())
            })
            .and_then(|entry| entry["manager"].as_str())
            .filter(|name| !name.is_empty())
            .unwrap_or(names::FIELD_MANAGER)
    }

    /// Returns the status for a target at which the object has this generation: an up-to-date `observedGeneration` stays up to date.
    pub fn status(&self, generation: i64) -> Option<Value> {
        let mut status = self.object.get("status").cloned().filter(|status| !status.is_null())?;
        if status.as_object().is_some_and(serde_json::Map::is_empty) {
            return None;
        }
        self.observe(&mut status, generation);
        Some(status)
    }

    /// Rewrites `observedGeneration`. It cannot be less than 1, so it is removed if it would be.
    fn observe(&self, value: &mut Value, generation: i64) {
        match value {
            Value::Object(fields) => {
                if let Some(observed) = fields.get("observedGeneration").and_then(Value::as_i64) {
                    let there = if observed >= self.generation { generation } else { generation - 1 };
                    if there < 1 {
                        fields.remove("observedGeneration");
                    } else {
                        fields.insert("observedGeneration".into(), there.into());
                    }
                }
                fields.values_mut().for_each(|value| self.observe(value, generation));
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.observe(item, generation)),
            _ => {}
        }
    }
}
