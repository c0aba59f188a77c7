//! The patch helper: sends only the difference between an object as it was read and the wanted object.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::conditions;
use crate::error::{Error, Result};
use crate::object::{self, Kind, NamespacedName};
use crate::objects::Objects;

/// The number of times that a status patch is retried with the latest conditions after a conflict.
const CONFLICT_RETRIES: usize = 5;

/// Returns the merge patch (RFC 7386) that turns `from` into `to`; `None` if they are equal.
pub fn merge_difference(from: &Value, to: &Value) -> Option<Value> {
    match (from, to) {
        (Value::Object(from), Value::Object(to)) => {
            let mut patch = Map::new();
            for (key, old) in from {
                match to.get(key) {
                    None => drop(patch.insert(key.clone(), Value::Null)),
                    Some(new) => {
                        if let Some(difference) = merge_difference(old, new) {
                            patch.insert(key.clone(), difference);
                        }
                    }
                }
            }
            for (key, new) in to {
                if !from.contains_key(key) && !new.is_null() {
                    patch.insert(key.clone(), new.clone());
                }
            }
            (!patch.is_empty()).then_some(Value::Object(patch))
        }
        _ => (from != to).then(|| to.clone()),
    }
}

/// The two requests that a change needs, each present only if it changes something.
#[derive(Debug, Default, PartialEq)]
pub struct Difference {
    /// Patch of the object without its status.
    pub main: Option<Value>,
    /// Patch of the status without its conditions.
    pub status: Option<Value>,
    /// Types of the conditions that changed, each with its new value; `None` for a removed condition.
    pub conditions: Vec<(String, Option<Value>)>,
}

/// Computes the requests that turn `from` into `to`.
pub fn difference(from: &Value, to: &Value) -> Difference {
    let (from_main, from_status, from_conditions) = split(from);
    let (to_main, to_status, to_conditions) = split(to);
    let mut main = merge_difference(&from_main, &to_main);
    if let Some(patch) = &mut main
        && replaces_lists(patch)
    {
        // A merge patch replaces a list as a whole, so the stored list must still be the list that was read.
        patch["metadata"]["resourceVersion"] = from["metadata"]["resourceVersion"].clone();
    }
    let status = match (from_status, to_status) {
        (Value::Null, to) if to == json!({}) => None,
        (from, to) => merge_difference(&from, &to),
    };
    Difference { main, status, conditions: changed_conditions(&from_conditions, &to_conditions) }
}

fn replaces_lists(patch: &Value) -> bool {
    match patch {
        Value::Array(_) => true,
        Value::Object(map) => map.values().any(replaces_lists),
        _ => false,
    }
}

/// Splits an object into the object without status and server-owned metadata, the status without conditions,
/// and the conditions.
fn split(object: &Value) -> (Value, Value, Vec<Value>) {
    let mut main = object.clone();
    let mut status = Value::Null;
    let mut list = Vec::new();
    if let Value::Object(map) = &mut main {
        status = map.remove("status").unwrap_or(Value::Null);
        if let Some(Value::Object(metadata)) = map.get_mut("metadata") {
            metadata.retain(|key, _| {
                matches!(key.as_str(), "labels" | "annotations" | "finalizers" | "ownerReferences")
            });
        }
    }
    if let Value::Object(map) = &mut status
        && let Some(Value::Array(conditions)) = map.remove("conditions")
    {
        list = conditions;
    }
    (main, status, list)
}

fn changed_conditions(from: &[Value], to: &[Value]) -> Vec<(String, Option<Value>)> {
    let find =
        |list: &[Value], kind: &Value| list.iter().find(|condition| condition["type"] == *kind).cloned();
    let text = |kind: &Value| kind.as_str().unwrap_or_default().to_owned();
    let mut changed = Vec::new();
    for condition in to {
        if find(from, &condition["type"]).as_ref() != Some(condition) {
            changed.push((text(&condition["type"]), Some(condition.clone())));
        }
    }
    for condition in from {
        if find(to, &condition["type"]).is_none() {
            changed.push((text(&condition["type"]), None));
        }
    }
    changed
}

/// Applies `changed` to the conditions of `latest`. A change wins if its type is in `owned` or if the
/// condition did not change since `read`.
fn merge_conditions(
    read: &[Value],
    latest: &[Value],
    changed: &[(String, Option<Value>)],
    owned: &[&str],
) -> Vec<Value> {
    let find = |list: &[Value], kind: &str| list.iter().find(|condition| condition["type"] == kind).cloned();
    let mut merged = latest.to_vec();
    for (kind, wanted) in changed {
        if !owned.contains(&kind.as_str()) && find(read, kind) != find(latest, kind) {
            continue;
        }
        merged.retain(|condition| condition["type"] != kind.as_str());
        merged.extend(wanted.clone());
    }
    merged
        .sort_by_cached_key(|condition| conditions::position(condition["type"].as_str().unwrap_or_default()));
    merged
}

impl<K: Kind> Objects<K> {
    /// Like [`Objects::patch`] for the object without its status, but only if nobody has changed the object since it was read.
    ///
    /// # Errors
    /// [`Error::is_conflict`] if the object has changed.
    pub async fn patch_unchanged(&self, read: &Arc<K>, wanted: &K) -> Result<Arc<K>> {
        let what = || format!("patch {} {}", self.kind(), NamespacedName::of(wanted));
        let value = |object: &K| serde_json::to_value(object).map_err(|error| Error::json(what(), error));
        let (from, to) = (value(read)?, value(wanted)?);
        let Some(mut patch) = difference(&from, &to).main else { return Ok(read.clone()) };
        patch["metadata"]["resourceVersion"] = from["metadata"]["resourceVersion"].clone();
        self.merge(&NamespacedName::of(wanted), None, patch).await
    }

    /// Turns `read` into `wanted` with at most one patch of the object and one of its status; sends nothing
    /// if they are equal. Conditions are merged by type: those in `owned` overwrite concurrent changes.
    /// Returns the object as stored.
    pub async fn patch(&self, read: &Arc<K>, wanted: &K, owned: &[&str]) -> Result<Arc<K>>
    where
        K: PartialEq,
    {
        if **read == *wanted {
            return Ok(read.clone());
        }
        let what = || format!("patch {} {}", self.kind(), NamespacedName::of(wanted));
        let value = |object: &K| serde_json::to_value(object).map_err(|error| Error::json(what(), error));
        let (from, to) = (value(read)?, value(wanted)?);
        let key = NamespacedName::of(wanted);
        let difference = difference(&from, &to);
        let mut latest = self.newest(read);
        if let Some(patch) = difference.main {
            latest = self.merge(&key, None, patch).await?;
        }
        if object::is_deleting(latest.as_ref()) && latest.meta().finalizers.as_ref().is_none_or(Vec::is_empty)
        {
            // The patch removed the last finalizer, so the object is gone and its status cannot be written.
            return Ok(latest);
        }
        if difference.status.is_none() && difference.conditions.is_empty() {
            return Ok(latest);
        }
        self.patch_status(&from, latest, difference.status, &difference.conditions, owned).await
    }

    /// Returns the object from the cache if another controller of this process has written it since it was read: a patch of the older one would be a conflict.
    fn newest(&self, read: &Arc<K>) -> Arc<K> {
        let is_newer = |cached: &Arc<K>| {
            object::uid(cached.as_ref()) == object::uid(read.as_ref())
                && object::version(cached.as_ref()) > object::version(read.as_ref())
        };
        self.get(&NamespacedName::of(read.as_ref())).filter(is_newer).unwrap_or_else(|| read.clone())
    }

    async fn patch_status(
        &self,
        from: &Value,
        mut latest: Arc<K>,
        status: Option<Value>,
        changed: &[(String, Option<Value>)],
        owned: &[&str],
    ) -> Result<Arc<K>> {
        let key = NamespacedName::of(latest.as_ref());
        let (_, _, read) = split(from);
        for attempt in 0.. {
            let mut patch = json!({"status": status.clone().unwrap_or_else(|| json!({}))});
            if !changed.is_empty() {
                let value = serde_json::to_value(latest.as_ref());
                let value =
                    value.map_err(|error| Error::json(format!("patch {} {key}", self.kind()), error))?;
                let merged = merge_conditions(&read, &split(&value).2, changed, owned);
                patch["status"]["conditions"] = Value::Array(merged);
                // The list is replaced as a whole, so the stored list must still be the list that was merged.
                patch["metadata"] = json!({"resourceVersion": latest.meta().resource_version});
            }
            match self.merge(&key, Some("status"), patch).await {
                Err(error) if error.is_conflict() && attempt < CONFLICT_RETRIES => {
                    latest = match self.get_live(&key).await? {
                        Some(current) if object::uid(current.as_ref()) == object::uid(latest.as_ref()) => {
                            current
                        }
                        _ => return Err(error),
                    };
                }
                result => return result,
            }
        }
        Ok(latest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_difference() {
        let from = json!({"metadata": {"name": "a", "resourceVersion": "1", "labels": {"x": "1", "y": "2"}}, "spec": {"a": 1}});
        let to = json!({"metadata": {"name": "a", "resourceVersion": "1", "labels": {"x": "1"}}, "spec": {"a": 1, "b": 1}});
        let expected = json!({"metadata": {"labels": {"y": null}}, "spec": {"b": 1}});
        assert_eq!(difference(&from, &to).main, Some(expected));
        assert_eq!(difference(&from, &from), Difference::default());
    }

    #[test]
    fn lists_are_replaced_only_as_read() {
        let from = json!({"metadata": {"resourceVersion": "7"}});
        let to = json!({"metadata": {"resourceVersion": "7", "finalizers": ["f"]}});
        let expected = json!({"metadata": {"finalizers": ["f"], "resourceVersion": "7"}});
        assert_eq!(difference(&from, &to).main, Some(expected));
    }

    #[test]
    fn conditions_merge_by_type() {
        let condition = |kind: &str, status: &str| json!({"type": kind, "status": status});
        let read = [condition("Ready", "False"), condition("Gate", "False"), condition("Old", "True")];
        let wanted = [condition("Ready", "True"), condition("Gate", "True")];
        let latest = [
            condition("Ready", "Unknown"),
            condition("Gate", "Unknown"),
            condition("New", "True"),
            condition("Old", "True"),
        ];
        let changed = changed_conditions(&read, &wanted);
        let merged = merge_conditions(&read, &latest, &changed, &["Ready"]);
        let expected = [condition("Ready", "True"), condition("Gate", "Unknown"), condition("New", "True")];
        assert_eq!(merged, expected, "owned wins, others keep the latest, removed goes");
    }
}
