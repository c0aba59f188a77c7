//! Migration from client-side to server-side `kubectl apply`, by the annotation with the last applied configuration.

use serde_json::{Map, Value};

use super::compare::Comparison;
use super::fields::field_set;
use super::set::FieldSet;
use super::types::Type;
use super::updater::Conflicts;
use super::validate::validate;
use crate::limits::MAX_ANNOTATIONS_SIZE;
use crate::meta;

/// The field manager for which the annotation has an effect.
pub const KUBECTL: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Returns the fields that client-side `kubectl apply` wrote and that are unchanged since then.
fn still_as_applied(live: &Value, api_version: &str, root: Type<'_>) -> Option<FieldSet> {
    let text = meta::annotations(live)?.get(ANNOTATION)?.as_str()?;
    let last: Value = serde_json::from_str(text).ok()?;
    if meta::api_version(&last) != api_version || meta::kind(&last) != meta::kind(live) {
        return None;
    }
    validate(&last, root, false).ok()?;
    let comparison = Comparison::of(&last, live, root).ok()?;
    let set = field_set(&last, root);
    Some(set.difference(&comparison.modified).difference(&comparison.added).difference(&comparison.removed))
}

/// Returns the conflicts that remain when `kubectl` takes over from its own client-side apply.
pub fn remaining_conflicts(
    conflicts: &Conflicts,
    live: &Value,
    api_version: &str,
    root: Type<'_>,
) -> Option<Conflicts> {
    let allowed = still_as_applied(live, api_version, root)?;
    let remaining = conflicts.iter().map(|(id, set)| (id.clone(), set.difference(&allowed)));
    Some(remaining.filter(|(_, set)| !set.is_empty()).collect())
}

/// Updates the annotation if the object has it, so that client-side `kubectl apply` remains possible.
pub fn refresh(object: &mut Value, config: &Value) {
    let present = |annotations: &Map<String, Value>| {
        annotations.get(ANNOTATION).and_then(Value::as_str).is_some_and(|text| !text.is_empty())
    };
    if !meta::annotations(object).is_some_and(present) {
        return;
    }
    let mut config = config.clone();
    if let Some(Value::Object(annotations)) = config.pointer_mut("/metadata/annotations") {
        annotations.remove(ANNOTATION);
    }
    let Some(Value::Object(annotations)) = object.pointer_mut("/metadata/annotations") else { return };
    annotations.insert(ANNOTATION.to_owned(), format!("{config}\n").into());
    let size: usize =
        annotations.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
    if size > MAX_ANNOTATIONS_SIZE {
        annotations.remove(ANNOTATION);
    }
}
