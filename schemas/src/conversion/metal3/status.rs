//! The status of kinds that provision infrastructure: progress, conditions of both versions, and failures.

use serde_json::Value;

use super::super::fields::Fields;

const FAILURES: [&str; 2] = ["failureReason", "failureMessage"];

pub fn up(status: &mut Fields) {
    if let Some(ready) = status.remove("ready") {
        put(status, &["initialization", "provisioned"], ready);
    }
    if let Some(conditions) = status.remove("conditions") {
        put(status, &["deprecated", "v1beta1", "conditions"], conditions);
    }
    for name in FAILURES {
        if let Some(failure) = status.remove(name) {
            put(status, &["deprecated", "v1beta1", name], failure);
        }
    }
    if let Some(mut newer) = status.remove("v1beta2")
        && let Some(conditions) = newer.as_object_mut().and_then(|newer| newer.remove("conditions"))
    {
        status.insert("conditions".into(), conditions);
    }
}

pub fn down(status: &mut Fields) {
    if let Some(conditions) = status.remove("conditions") {
        put(status, &["v1beta2", "conditions"], conditions);
    }
    if let Some(mut older) = status.remove("deprecated")
        && let Some(older) = older.get_mut("v1beta1").and_then(Value::as_object_mut)
    {
        status.extend(std::mem::take(older));
    }
    if let Some(mut initialization) = status.remove("initialization")
        && let Some(provisioned) = initialization.as_object_mut().and_then(|it| it.remove("provisioned"))
    {
        status.insert("ready".into(), provisioned);
    }
}

/// Sets the field at `path`, and makes the objects on the way.
fn put(fields: &mut Fields, path: &[&str], value: Value) {
    let Some((first, rest)) = path.split_first() else { return };
    if rest.is_empty() {
        fields.insert((*first).to_owned(), value);
        return;
    }
    let next = fields.entry(*first).or_insert_with(|| Value::Object(Fields::new()));
    if let Some(next) = next.as_object_mut() {
        put(next, rest, value);
    }
}
