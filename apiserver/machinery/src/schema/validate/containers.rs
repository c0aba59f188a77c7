//! Validation of lists and objects.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::run::{Outcome, Run};
use super::walk::node;
use crate::field::{FieldError, FieldErrorKind};
use crate::schema::Schema;
use crate::schema::correlate::OldItems;

pub(super) fn list(
    run: &Run<'_>,
    schema: &Schema,
    list: &[Value],
    old: Option<&Value>,
    path: &mut String,
) -> Outcome {
    let mut outcome = Outcome::default();
    let rules = &schema.validation;
    if let Some(items) = schema.items.as_deref() {
        let old = OldItems::new(schema, old.and_then(Value::as_array));
        let length = path.len();
        for (i, item) in list.iter().enumerate() {
            path.push_str(&format!("[{i}]"));
            outcome.merge(node(run, items, item, old.of(item), path));
            path.truncate(length);
            if outcome.is_full() {
                break;
            }
        }
    }
    let count = list.len() as u64;
    if let Some(min) = rules.min_items.filter(|min| count < *min) {
        let what = format!("should have at least {min} items");
        let value = Value::from(count);
        outcome.errors.push(run.fields().error(FieldErrorKind::Invalid, path, &value, &what));
    }
    if let Some(max) = rules.max_items.filter(|max| count > *max) {
        outcome.errors.push(too_many(run.fields().name(path), count, max));
    }
    let mut seen = HashSet::new();
    if rules.unique_items && !list.iter().all(|item| seen.insert(item.to_string())) {
        let error =
            run.fields().error(FieldErrorKind::Invalid, path, &"".into(), "shouldn't contain duplicates");
        outcome.errors.push(error);
    }
    outcome.matches += 1;
    outcome
}

pub(super) fn object(
    run: &Run<'_>,
    schema: &Schema,
    map: &Map<String, Value>,
    old: Option<&Value>,
    path: &mut String,
) -> Outcome {
    let rules = &schema.validation;
    let count = map.len() as u64;
    let mut outcome = Outcome::default();
    if let Some(min) = rules.min_properties.filter(|min| count < *min) {
        let what = format!("should have at least {min} properties");
        outcome.errors.push(run.fields().error(FieldErrorKind::Invalid, path, &count.into(), &what));
    }
    if let Some(max) = rules.max_properties.filter(|max| count > *max) {
        outcome.errors.push(too_many(run.fields().name(path), count, max));
    }
    let length = path.len();
    for (key, value) in map {
        let child = schema.child(key);
        let Some(child) = child else { continue };
        // A value that is validated alone has no name. Its properties have no leading dot in their paths, other
        // fields have one.
        if length > 0 || !schema.properties.contains_key(key) {
            path.push('.');
        }
        path.push_str(key);
        let before = old.and_then(|old| old.get(key));
        outcome.merge(node(run, child, value, before, path));
        path.truncate(length);
        if outcome.is_full() {
            break;
        }
    }
    for name in &rules.required {
        let defaulted = || schema.properties.get(name).is_some_and(|child| child.default.is_some());
        if !map.contains_key(name) && !defaulted() {
            let field = if length > 0 { format!("{path}.{name}") } else { name.clone() };
            outcome.errors.push(FieldError::bare(FieldErrorKind::Required, run.fields().name(&field), ""));
        }
    }
    outcome
}

fn too_many(field: String, count: u64, max: u64) -> FieldError {
    let items = if max == 1 { "item" } else { "items" };
    FieldError::new(FieldErrorKind::TooMany, field, &count.into(), format!("must have at most {max} {items}"))
}
