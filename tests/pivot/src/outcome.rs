//! The conditions that must hold after a pivot, regardless of how it was interrupted.

use std::collections::{BTreeMap, BTreeSet};

use pivot::normal::{difference, normal};
use serde_json::Value;

use crate::Scene;

/// Objects by their keys in the store.
pub type Objects = BTreeMap<String, Value>;

/// Whether the object is content, and not of a kind that each server keeps for itself.
fn is_content(key: &str) -> bool {
    let own = [
        "/registry/apiextensions.k8s.io/",
        "/registry/rbac.authorization.k8s.io/",
        "/namespaces/",
        "/serviceaccounts/",
        "/events/",
        "/registry/flowcontrol.apiserver.k8s.io/",
        "/registry/apiregistration.k8s.io/",
        "/priorityclasses/system-",
        "/leases/",
        "/providers/",
    ];
    !own.iter().any(|part| key.contains(part))
        && !key.ends_with("kube-root-ca.crt")
        && !key.contains("/kube-system/")
}

/// The objects of a server without those that it keeps for itself.
pub fn content(objects: Objects) -> Objects {
    objects.into_iter().filter(|(key, _)| is_content(key)).collect()
}

/// The object with its owners by name, because UIDs differ between servers.
pub fn comparable(object: &Value) -> Value {
    let mut object = normal(object.clone());
    if let Some(owners) = object["metadata"]["ownerReferences"].as_array_mut() {
        for owner in owners {
            owner["uid"] = Value::Null;
        }
    }
    object
}

/// The errors after a completed pivot. `original` is the content of the source before the pivot.
pub fn wrong_after_move(scene: &Scene, original: &Objects, stays: impl Fn(&str) -> bool) -> Vec<String> {
    let source = content(scene.source.objects());
    let target = content(scene.target.objects());
    let mut wrong = scene.watch.violations();
    let uid = |object: &Value| object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let uids: Vec<(String, String)> =
        original.iter().filter_map(|(key, object)| Some((uid(object), uid(target.get(key)?)))).collect();
    for (key, object) in original {
        let here = source.get(key);
        let there = target.get(key);
        match (stays(key), here, there) {
            (true, Some(here), None) if here == object => {}
            (true, ..) => wrong.push(format!("{key} should have stayed as it was")),
            (false, Some(_), _) => wrong.push(format!("{key} is still at the source")),
            (false, None, None) => wrong.push(format!("{key} is lost")),
            (false, None, Some(there)) => {
                if let Some(found) = difference(&comparable(object), &comparable(there)) {
                    wrong.push(format!("{key} differs at {found}"));
                }
                let paused = |object: &Value| object["spec"]["paused"] == true;
                if key.contains("/clusters/") && paused(object) != paused(there) {
                    wrong.push(format!("{key}: the user's own pause is lost"));
                }
                if managers(object, &uids) != managers(there, &[]) {
                    wrong.push(format!("{key}: its field managers are others"));
                }
            }
        }
    }
    wrong.extend(
        target.keys().filter(|key| !original.contains_key(*key)).map(|key| format!("{key} is foreign")),
    );
    wrong.extend(wrong_owners(&target));
    wrong
}

/// The field managers and their fields, with the UIDs replaced by those of the target.
fn managers(object: &Value, uids: &[(String, String)]) -> BTreeSet<String> {
    let translate =
        |entry: Value| uids.iter().fold(entry.to_string(), |text, (here, there)| text.replace(here, there));
    pivot::normal::managers(object).into_iter().map(translate).collect()
}

/// Owner references to objects that do not exist.
pub fn wrong_owners(objects: &Objects) -> Vec<String> {
    let uids: BTreeSet<&str> =
        objects.values().filter_map(|object| object["metadata"]["uid"].as_str()).collect();
    let mut wrong = Vec::new();
    for (key, object) in objects {
        let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        for owner in owners.filter(|owner| !uids.contains(owner["uid"].as_str().unwrap_or_default())) {
            wrong.push(format!("{key}: its owner {} is not there", owner["name"]));
        }
    }
    wrong
}

/// The errors after a pivot that was rolled back.
pub fn wrong_after_roll_back(scene: &Scene, original: &Objects) -> Vec<String> {
    let mut wrong = scene.watch.violations();
    let mut source = content(scene.source.objects());
    let mut original = original.clone();
    source.values_mut().chain(original.values_mut()).for_each(without_counters);
    for key in original.keys().chain(source.keys().filter(|key| !original.contains_key(*key))) {
        if original.get(key) != source.get(key) {
            let null = Value::Null;
            let found = difference(original.get(key).unwrap_or(&null), source.get(key).unwrap_or(&null));
            wrong.push(format!("{key} of the source differs at {}", found.unwrap_or_default()));
        }
    }
    wrong.extend(content(scene.target.objects()).keys().map(|key| format!("{key} is left at the target")));
    wrong
}

/// Removes the fields that change with every write, and the times of field managers.
fn without_counters(object: &mut Value) {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
        metadata.remove("generation");
    }
    for entry in object["metadata"]["managedFields"].as_array_mut().into_iter().flatten() {
        entry["time"] = Value::Null;
    }
}
