//! The `status` of a CustomResourceDefinition: accepted names, conditions and stored versions.

use serde_json::{Map, Value, json};

use super::names::approval_of;
use super::read::{list, text};

/// The finalizer that keeps a CustomResourceDefinition until its custom resources are deleted.
pub const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Sets the status of a new object: no conditions, no accepted names, and the storage version as the only stored
/// version.
pub fn prepare_for_create(object: &mut Value) {
    let storage = storage_version(object).map(str::to_owned);
    let stored = match storage {
        Some(name) => json!([name]),
        None => Value::Null,
    };
    let status =
        json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored});
    if let Some(map) = object.as_object_mut() {
        map.insert("status".into(), status);
    }
}

/// Restores the old status and adds the storage version to the stored versions.
pub fn prepare_for_update(object: &mut Value, old: &Value) {
    if let (Some(map), Some(status)) = (object.as_object_mut(), old.get("status")) {
        map.insert("status".into(), status.clone());
    }
    let Some(storage) = storage_version(object).map(Value::from) else { return };
    let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) else { return };
    let stored = status.entry("storedVersions").or_insert_with(|| json!([]));
    if !stored.is_array() {
        *stored = json!([]);
    }
    if let Some(stored) = stored.as_array_mut().filter(|stored| !stored.contains(&storage)) {
        stored.push(storage);
    }
}

/// Defaults the stored versions of a status to the storage version.
pub(super) fn default_stored_versions(object: &mut Value) {
    if !list(object, "/status/storedVersions").is_empty() {
        return;
    }
    let Some(storage) = storage_version(object).map(Value::from) else { return };
    if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
        status.insert("storedVersions".into(), json!([storage]));
    }
}

fn storage_version(object: &Value) -> Option<&str> {
    let storage = |version: &&Value| version.get("storage") == Some(&Value::Bool(true));
    list(object, "/spec/versions").iter().find(storage).map(|version| text(version, "/name"))
}

/// Returns whether the condition `Established` is true.
pub fn is_established(object: &Value) -> bool {
    list(object, "/status/conditions")
        .iter()
        .any(|condition| text(condition, "/type") == "Established" && text(condition, "/status") == "True")
}

/// Names that other resources of the same group use.
#[derive(Debug, Default, Clone)]
pub struct Taken {
    /// Plural, singular and short names.
    pub resources: Vec<String>,
    /// Kinds and list kinds.
    pub kinds: Vec<String>,
}

/// Accepts the free names and sets the conditions `NamesAccepted` and `Established` accordingly, and for groups of the Kubernetes project
/// the one about their API review. `now` is RFC 3339.
/// Returns whether anything changed.
pub fn accept_names(object: &mut Value, taken: &Taken, now: &str) -> bool {
    let before = object.get("status").cloned();
    let requested = object.pointer("/spec/names").cloned().unwrap_or_default();
    let held = object.pointer("/status/acceptedNames").cloned().unwrap_or_default();
    let (accepted, conflict) = decide(&requested, &held, taken);
    if let Some(status) = status_mut(object) {
        status.insert("acceptedNames".into(), accepted);
    }
    if let Some(approval) = approval_of(object) {
        let (status, reason, message) = approval.condition();
        set_condition(object, "KubernetesAPIApprovalPolicyConformant", status, reason, &message, now);
    }
    let established = is_established(object);
    match conflict {
        None => {
            set_condition(object, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now);
            if !established {
                let message = "the initial names have been accepted";
                set_condition(object, "Established", "True", "InitialNamesAccepted", message, now);
            }
        }
        Some((reason, message)) => {
            set_condition(object, "NamesAccepted", "False", reason, &message, now);
            if !established {
                let message = "not all names are accepted";
                set_condition(object, "Established", "False", "NotAccepted", message, now);
            }
        }
    }
    object.get("status").cloned() != before
}

fn decide(requested: &Value, held: &Value, taken: &Taken) -> (Value, Option<(&'static str, String)>) {
    let mut accepted = Map::new();
    // Of several conflicts, the last one is reported.
    let mut conflict = None;
    let in_use = |name: &str| format!("\"{name}\" is already in use");
    let mut name = |key: &str, reason: &'static str, taken: &[String], conflict: &mut Option<_>| {
        let name = text(requested, &format!("/{key}"));
        let mut value = name;
        if taken.iter().any(|found| found == name) {
            *conflict = Some((reason, in_use(name)));
            value = text(held, &format!("/{key}"));
        }
        if !value.is_empty() || key == "plural" || key == "kind" {
            accepted.insert(key.into(), value.into());
        }
    };
    name("plural", "PluralConflict", &taken.resources, &mut conflict);
    name("singular", "SingularConflict", &taken.resources, &mut conflict);
    let short: Vec<&str> = list(requested, "/shortNames").iter().filter_map(Value::as_str).collect();
    let own = |name: &str| list(held, "/shortNames").iter().any(|found| found == name);
    let clashes: Vec<String> = short
        .iter()
        .filter(|name| !own(name) && taken.resources.iter().any(|found| found == *name))
        .map(|name| in_use(name))
        .collect();
    let short =
        if clashes.is_empty() { json!(short) } else { held.get("shortNames").cloned().unwrap_or_default() };
    if !clashes.is_empty() {
        let message = if clashes.len() == 1 { clashes.concat() } else { format!("[{}]", clashes.join(", ")) };
        conflict = Some(("ShortNamesConflict", message));
    }
    name("kind", "KindConflict", &taken.kinds, &mut conflict);
    name("listKind", "ListKindConflict", &taken.kinds, &mut conflict);
    for (key, value) in
        [("shortNames", short), ("categories", requested.get("categories").cloned().unwrap_or_default())]
    {
        if value.as_array().is_some_and(|list| !list.is_empty()) {
            accepted.insert(key.into(), value);
        }
    }
    (Value::Object(accepted), conflict)
}

fn status_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let status = object.as_object_mut()?.entry("status").or_insert_with(|| json!({}));
    if !status.is_object() {
        *status = json!({});
    }
    status.as_object_mut()
}

/// Sets a condition. `lastTransitionTime` only changes with the status.
pub fn set_condition(object: &mut Value, kind: &str, status: &str, reason: &str, message: &str, now: &str) {
    let Some(map) = status_mut(object) else { return };
    let conditions = map.entry("conditions").or_insert_with(|| json!([]));
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else { return };
    let found = conditions.iter_mut().find(|condition| text(condition, "/type") == kind);
    let time = match &found {
        Some(condition) if text(condition, "/status") == status => {
            condition.get("lastTransitionTime").cloned().unwrap_or_else(|| now.into())
        }
        _ => now.into(),
    };
    let condition = json!({
        "type": kind, "status": status, "lastTransitionTime": time, "reason": reason, "message": message,
    });
    match found {
        Some(old) => *old = condition,
        None => conditions.push(condition),
    }
}
