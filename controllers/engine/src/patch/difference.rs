//! The difference between an object as it was read and the wanted object.

use serde_json::{Map, Value, json};

/// Returns the merge patch (RFC 7386) that turns `from` into `to`; `None` if they are equal.
pub fn merge_difference(from: &Value, to: &Value) -> Option<Value> {
    match (from, to) {
        (Value::Object(_), Value::Object(_)) => difference_of_fields(Some(from), Some(to), |_| true),
        _ => (from != to).then(|| to.clone()),
    }
}

/// Returns the merge patch of the fields for which `counts` holds. A value that is no object has no fields.
fn difference_of_fields(
    from: Option<&Value>,
    to: Option<&Value>,
    counts: impl Fn(&str) -> bool,
) -> Option<Value> {
    let (from, to) = (from.and_then(Value::as_object), to.and_then(Value::as_object));
    let mut patch = Map::new();
    for (key, old) in from.into_iter().flatten().filter(|(key, _)| counts(key)) {
        match to.and_then(|to| to.get(key)) {
            None => drop(patch.insert(key.clone(), Value::Null)),
            Some(new) => {
                if let Some(difference) = merge_difference(old, new) {
                    patch.insert(key.clone(), difference);
                }
            }
        }
    }
    for (key, new) in to.into_iter().flatten().filter(|(key, _)| counts(key)) {
        if from.is_none_or(|from| !from.contains_key(key)) && !new.is_null() {
            patch.insert(key.clone(), new.clone());
        }
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
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

impl Difference {
    /// Returns whether nothing differs.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether only texts differ from `from`: what people read. These are messages of conditions, observed generations, and for the
    /// deprecated conditions of v1beta1 their reasons and severities, too, which upstream copies from other objects.
    pub fn is_text(&self, from: &Value) -> bool {
        let read = conditions_of(from);
        let differs_in_text = |(kind, wanted): &(String, Option<Value>)| {
            let before = read.iter().find(|condition| condition["type"] == kind.as_str());
            before.zip(wanted.as_ref()).is_some_and(|(before, wanted)| equal_but(TEXTS, before, wanted))
        };
        self.main.is_none()
            && self.conditions.iter().all(differs_in_text)
            && self.status.as_ref().is_none_or(|status| is_status_text(&from["status"], status))
    }
}

/// The fields of a condition that are texts.
const TEXTS: &[&str] = &["message", "observedGeneration"];
/// Those of a condition of v1beta1.
const DEPRECATED_TEXTS: &[&str] = &["message", "reason", "severity", "lastTransitionTime"];

/// Returns whether a patch of the status changes only the observed generation and texts of deprecated conditions.
fn is_status_text(status: &Value, patch: &Value) -> bool {
    patch.as_object().into_iter().flatten().all(|(key, value)| match key.as_str() {
        "observedGeneration" => true,
        "deprecated" => is_deprecated_text(&status["deprecated"]["v1beta1"]["conditions"], value),
        _ => false,
    })
}

fn is_deprecated_text(before: &Value, patch: &Value) -> bool {
    fn only<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
        value.as_object().filter(|map| map.len() == 1)?.get(key)
    }
    let after = only(patch, "v1beta1").and_then(|value| only(value, "conditions"));
    let (Some(Value::Array(after)), Some(before)) = (after, before.as_array()) else { return false };
    let mut pairs = before.iter().zip(after);
    before.len() == after.len() && pairs.all(|(before, after)| equal_but(DEPRECATED_TEXTS, before, after))
}

/// Returns whether two conditions are equal except for some fields.
fn equal_but(fields: &[&str], one: &Value, other: &Value) -> bool {
    fn rest<'a>(but: &[&str], condition: &'a Value) -> impl Iterator<Item = (&'a String, &'a Value)> {
        condition.as_object().into_iter().flatten().filter(|(key, _)| !but.contains(&key.as_str()))
    }
    rest(fields, one).eq(rest(fields, other))
}

/// Computes the requests that turn `from` into `to`.
pub fn difference(from: &Value, to: &Value) -> Difference {
    let mut main = main_difference(from, to);
    if let Some(patch) = &mut main
        && replaces_lists(patch)
    {
        // A merge patch replaces a list as a whole, so the stored list must still be the list that was read.
        patch["metadata"]["resourceVersion"] = from["metadata"]["resourceVersion"].clone();
    }
    let status = match (from.get("status"), to.get("status")) {
        (Some(_), None) => Some(Value::Null),
        (from, to) => difference_of_fields(from, to, |key| key != "conditions"),
    };
    Difference { main, status, conditions: changed_conditions(conditions_of(from), conditions_of(to)) }
}

/// Returns the patch of the object without its status and the metadata that the server owns.
fn main_difference(from: &Value, to: &Value) -> Option<Value> {
    let own = |key: &str| matches!(key, "labels" | "annotations" | "finalizers" | "ownerReferences");
    let metadata = difference_of_fields(from.get("metadata"), to.get("metadata"), own);
    let is_rest = |key: &str| !matches!(key, "metadata" | "status");
    let rest = difference_of_fields(Some(from), Some(to), is_rest);
    let Some(metadata) = metadata else { return rest };
    let mut patch = rest.unwrap_or_else(|| json!({}));
    patch["metadata"] = metadata;
    Some(patch)
}

/// Returns the conditions of an object.
pub(super) fn conditions_of(object: &Value) -> &[Value] {
    object["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn replaces_lists(patch: &Value) -> bool {
    match patch {
        Value::Array(_) => true,
        Value::Object(map) => map.values().any(replaces_lists),
        _ => false,
    }
}

/// Returns the types of the conditions that differ, each with its new form; `None` if it is gone.
pub fn changed_conditions(from: &[Value], to: &[Value]) -> Vec<(String, Option<Value>)> {
    fn find<'a>(list: &'a [Value], kind: &Value) -> Option<&'a Value> {
        list.iter().find(|condition| condition["type"] == *kind)
    }
    let text = |kind: &Value| kind.as_str().unwrap_or_default().to_owned();
    let mut changed = Vec::new();
    for condition in to {
        if find(from, &condition["type"]) != Some(condition) {
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
