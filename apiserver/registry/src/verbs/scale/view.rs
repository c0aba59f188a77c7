//! The Scale of an object, computed from three of its fields.

use kinds::definition::Scale;
use machinery::status::Status;
use serde_json::{Map, Value, json};

use crate::versions::definitions::Served;

/// Splits a path such as `.spec.replicas`.
pub(crate) fn steps(path: &str) -> impl Iterator<Item = &str> {
    path.split('.').filter(|step| !step.is_empty())
}

/// Returns the value at `path`, which can be null; `None` if it is absent.
pub(crate) fn at<'v>(object: &'v Value, path: &str) -> Option<&'v Value> {
    steps(path).try_fold(object, |value, step| value.get(step))
}

pub(crate) fn read<'v>(object: &'v Value, path: &str) -> Option<&'v Value> {
    at(object, path).filter(|value| !value.is_null())
}

/// Writes a replica count and creates missing objects on the way. The error names a value on the way that is not an
/// object.
pub(crate) fn write_at(object: &mut Value, path: &str, value: Value) -> Result<(), Status> {
    let mut place = object;
    let mut walked = String::new();
    for step in steps(path) {
        let Some(map) = place.as_object_mut() else {
            let why = format!("value cannot be set because {walked} is not a map[string]interface{{}}");
            return Err(Status::generic(why));
        };
        walked = format!("{walked}.{step}");
        place = map.entry(step).or_insert_with(|| Value::Object(Map::new()));
    }
    *place = value;
    Ok(())
}

/// Builds the Scale of an object.
pub(crate) fn view(scale: &Scale, object: &Value) -> Result<Value, Status> {
    let replicas = read(object, &scale.spec_replicas_path).and_then(Value::as_i64).ok_or_else(|| {
        Status::internal(format!("the spec replicas field {:?} does not exist", scale.spec_replicas_path))
    })?;
    let metadata = object["metadata"].as_object();
    let kept: Map<String, Value> = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"]
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), metadata?.get(key)?.clone())))
        .collect();
    let current = read(object, &scale.status_replicas_path).and_then(Value::as_i64).unwrap_or(0);
    let mut view = json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": kept,
        "spec": {}, "status": {"replicas": current},
    });
    if replicas != 0 {
        view["spec"]["replicas"] = replicas.into();
    }
    let selector = scale.label_selector_path.as_deref().and_then(|path| read(object, path));
    // The selector of a workload can be an object.
    let selector = selector.map(|found| match found {
        Value::String(text) => text.clone(),
        Value::Object(_) => machinery::selector::show_object(found),
        _ => String::new(),
    });
    if let Some(selector) = selector.filter(|selector| !selector.is_empty()) {
        view["status"]["selector"] = selector.into();
    }
    Ok(view)
}

/// Returns the Scale of an object as JSON text.
pub(crate) fn get(served: &Served, object: &Value) -> Result<bytes::Bytes, Status> {
    let scale = served.version.scale.as_ref().ok_or_else(Status::no_such_path)?;
    Ok(kinds::json::text(&view(scale, object)?).into())
}

/// Returns `object` with the replicas of its Scale, which admission has changed.
pub(crate) fn with_replicas(served: &Served, object: &Value, scaled: &Value) -> Result<Value, Status> {
    let scale = served.version.scale.as_ref().ok_or_else(Status::no_such_path)?;
    let replicas = &scaled["spec"]["replicas"];
    let count = if replicas.is_null() { Some(0) } else { replicas.as_i64() };
    let count = count.and_then(|count| i32::try_from(count).ok());
    let count =
        count.ok_or_else(|| Status::internal(format!("spec.replicas of a Scale is no int32: {replicas}")))?;
    let mut object = object.clone();
    write_at(&mut object, &scale.spec_replicas_path, count.into())?;
    Ok(object)
}

/// Returns the Scale of an object, or null if it has none.
pub(crate) fn view_or_null(served: &Served, object: &Value) -> Value {
    served.version.scale.as_ref().and_then(|scale| view(scale, object).ok()).unwrap_or_default()
}
