//! `/scale`: an `autoscaling/v1` Scale over three paths of a custom resource.

use machinery::apply::scale::{self as ownership, Replicas};
use machinery::field::{FieldError, FieldErrorKind};
use machinery::status::Status;
use machinery::{meta, patch};
use serde_json::{Map, Value, json};

use crate::context::{Context, Input, PatchBody};
use crate::create::Ownership;
use crate::decode;
use crate::definition::{Scale, Version};
use crate::definitions::Served;
use crate::document;
use crate::ownership as owners;
use crate::registry::Registry;
use crate::response::Written;
use crate::update::Changed;
use crate::write::{self, Target};

/// The steps of `.spec.replicas`.
fn steps(path: &str) -> impl Iterator<Item = &str> {
    path.split('.').filter(|step| !step.is_empty())
}

fn read<'v>(object: &'v Value, path: &str) -> Option<&'v Value> {
    steps(path).try_fold(object, |value, step| value.get(step)).filter(|value| !value.is_null())
}

fn write_at(object: &mut Value, path: &str, value: Value) {
    let mut place = object;
    for step in steps(path) {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        let Some(map) = place.as_object_mut() else { return };
        place = map.entry(step).or_insert(Value::Null);
    }
    *place = value;
}

/// The Scale of a custom object.
fn view(scale: &Scale, object: &Value) -> Result<Value, Status> {
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
    // Workloads have theirs as an object.
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

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) => {
            if number.is_i64() {
                "int64"
            } else {
                "float64"
            }
        }
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A Scale's types, as Go's decoder checks them.
fn check_types(scale: &Value) -> Result<(), String> {
    for (part, holder) in [("spec", "ScaleSpec"), ("status", "ScaleStatus")] {
        let found = match &scale[part] {
            Value::Null | Value::Object(_) => continue,
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
        };
        return Err(format!(
            "json: cannot unmarshal {found} into Go struct field Scale.{part} of type v1.{holder}"
        ));
    }
    for (part, field, wanted) in
        [("spec", "replicas", "int32"), ("status", "replicas", "int32"), ("status", "selector", "string")]
    {
        let value = &scale[part][field];
        let (fits, found) = match value {
            Value::Null => (true, "null"),
            Value::Bool(_) => (false, "bool"),
            Value::Number(number) => {
                let count = number.as_i64().is_some_and(|count| i32::try_from(count).is_ok());
                (wanted == "int32" && count, "number")
            }
            Value::String(_) => (wanted == "string", "string"),
            Value::Array(_) => (false, "array"),
            Value::Object(_) => (false, "object"),
        };
        if !fits {
            let found = if found == "number" { format!("number {value}") } else { found.to_owned() };
            let holder = if part == "spec" { "ScaleSpec" } else { "ScaleStatus" };
            return Err(format!(
                "json: cannot unmarshal {found} into Go struct field {holder}.{part}.{field} of type {wanted}"
            ));
        }
    }
    Ok(())
}

/// What is wrong with the replica counts.
pub(crate) fn validate(version: &Version, object: &Value) -> Vec<FieldError> {
    let Some(scale) = &version.scale else { return Vec::new() };
    check_counts(object, &[&scale.spec_replicas_path, &scale.status_replicas_path])
}

/// What is wrong with the count in `status`.
pub(crate) fn validate_status(version: &Version, object: &Value) -> Vec<FieldError> {
    version.scale.as_ref().map_or_else(Vec::new, |scale| check_counts(object, &[&scale.status_replicas_path]))
}

/// What stands in the way to `path` and is no object.
fn blocked(object: &Value, path: &str) -> Option<FieldError> {
    let (mut value, mut walked) = (object, String::new());
    for step in steps(path) {
        walked = format!("{walked}.{step}");
        match value {
            Value::Null => return None,
            Value::Object(map) => value = map.get(step)?,
            other => {
                let (found, go_type) = (shown(other), go_type(other));
                let detail = format!(
                    "{walked} accessor error: {found} is of the type {go_type}, expected map[string]interface{{}}"
                );
                return Some(FieldError::new(FieldErrorKind::Invalid, path, &0.into(), detail));
            }
        }
    }
    None
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn check_counts(object: &Value, paths: &[&String]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for path in paths {
        if let Some(error) = blocked(object, path) {
            errors.push(error);
            continue;
        }
        let Some(found) = read(object, path) else { continue };
        let Some(replicas) = found.as_i64() else {
            let go_type = go_type(found);
            let found = shown(found);
            let detail = format!("{path} accessor error: {found} is of the type {go_type}, expected int64");
            errors.push(FieldError::new(FieldErrorKind::Invalid, path.as_str(), &0.into(), detail));
            continue;
        };
        let detail = if replicas < 0 {
            "should be a non-negative integer".to_owned()
        } else if replicas > i64::from(i32::MAX) {
            format!("should be less than or equal to {}", i32::MAX)
        } else {
            continue;
        };
        errors.push(FieldError::new(FieldErrorKind::Invalid, path.as_str(), &replicas.into(), detail));
    }
    errors
}

fn paths<'s>(target: &Target<'s>) -> Result<&'s Scale, Status> {
    target.served.version.scale.as_ref().ok_or_else(Status::no_such_path)
}

/// The Scale of an object as it is answered.
pub(crate) fn get(served: &Served, object: &Value) -> Result<bytes::Bytes, Status> {
    let scale = served.version.scale.as_ref().ok_or_else(Status::no_such_path)?;
    Ok(document::text(&view(scale, object)?))
}

/// The Scale of an object; null where it has none.
pub(crate) fn view_or_null(served: &Served, object: &Value) -> Value {
    served.version.scale.as_ref().and_then(|scale| view(scale, object).ok()).unwrap_or_default()
}

const FIELDS: [(&str, &[&str]); 5] = [
    ("apiVersion", &[]),
    ("kind", &[]),
    ("metadata", &[]),
    ("spec", &["replicas"]),
    ("status", &["replicas", "selector"]),
];

/// Removes what a Scale has not, and answers the complaints of strict decoding.
fn prune(scale: &mut Value) -> Vec<String> {
    let mut unknown = crate::object_meta::prune(scale);
    let Some(map) = scale.as_object_mut() else { return unknown };
    map.retain(|key, value| {
        let Some((_, inner)) = FIELDS.iter().find(|(field, _)| field == key) else {
            unknown.push(format!("unknown field \"{key}\""));
            return false;
        };
        if let (Some(map), false) = (value.as_object_mut(), inner.is_empty()) {
            map.retain(|field, _| {
                let known = inner.contains(&field.as_str());
                if !known {
                    unknown.push(format!("unknown field \"{key}.{field}\""));
                }
                known
            });
        }
        true
    });
    unknown
}

impl Registry {
    pub(crate) async fn update_scale(
        &self,
        context: &mut Context,
        target: &Target<'_>,
        input: Input,
    ) -> Result<Written, Status> {
        let mut wanted = input.object;
        let mut problems = input.strict_errors;
        problems.extend(prune(&mut wanted));
        decode::strictness(context, problems).map_err(|_| {
            Status::bad_request(
                "no kind is registered for the type v1.Scale in scheme \"pkg/runtime/scheme.go:111\"",
            )
        })?;
        write::identify(target.served.definition.namespaced, target.namespace, target.name, &mut wanted)?;
        self.change_scale(context, target, |_, _| Ok(wanted.clone())).await
    }

    pub(crate) async fn patch_scale(
        &self,
        context: &mut Context,
        target: &Target<'_>,
        body: PatchBody,
    ) -> Result<Written, Status> {
        if let PatchBody::Apply { input, force } = body {
            return self.apply_scale(context, target, input, force).await;
        }
        self.change_scale(context, target, |context, live| {
            let patch::Patched { object: mut patched, mut problems } = match &body {
                PatchBody::Json(text) => patch::json_patch(live, text)?,
                PatchBody::Merge(text) => patch::merge_patch(live, text)?,
                _ => {
                    return Err(Status::new(
                        415,
                        "UnsupportedMediaType",
                        "a Scale has no strategic merge patch",
                    ));
                }
            };
            check_types(&patched).map_err(|problem| patch::invalid_result(&patched, true, &problem))?;
            problems.extend(prune(&mut patched));
            decode::strictness(context, problems).map_err(Status::bad_request)?;
            write::identify(
                target.served.definition.namespaced,
                target.namespace,
                target.name,
                &mut patched,
            )?;
            Ok(patched)
        })
        .await
    }

    async fn apply_scale(
        &self,
        context: &mut Context,
        target: &Target<'_>,
        input: Input,
        force: bool,
    ) -> Result<Written, Status> {
        let scale = paths(target)?;
        let config = input.object;
        if self.storage().get(&target.key()).is_none() {
            return Err(target.not_found());
        }
        crate::patch::check_applied(&config, "autoscaling/v1", "Scale")?;
        let path = ownership::steps(&scale.spec_replicas_path);
        let written = self
            .change(context, target, |context, live| {
                let old = read(live, &scale.spec_replicas_path).and_then(Value::as_i64).unwrap_or(0);
                let new = config["spec"].get("replicas").and_then(Value::as_i64).unwrap_or(old);
                let replicas = Replicas { path: &path, old, new };
                let object = owners::as_writer(self, context, target, |writer| {
                    ownership::apply(live.clone(), replicas, force, writer)
                });
                let object = object.map_err(|mut status| {
                    // The object that was sent is meant, with the namespace and the name it gave itself.
                    let stored = format!("({}/{};", target.namespace, target.name);
                    let sent = format!("({}/{};", meta::namespace(&config), meta::name(&config));
                    status.message = status.message.replacen(&stored, &sent, 1);
                    status
                })?;
                Ok(Changed { object, ownership: Ownership::Applied, expected_uid: None })
            })
            .await?;
        as_scale(target, &written)
    }

    async fn change_scale(
        &self,
        context: &mut Context,
        target: &Target<'_>,
        mut make: impl FnMut(&mut Context, &Value) -> Result<Value, Status>,
    ) -> Result<Written, Status> {
        let scale = paths(target)?;
        let path = ownership::steps(&scale.spec_replicas_path);
        let written = self
            .change(context, target, |context, live| {
                let found = read(live, &scale.spec_replicas_path).and_then(Value::as_i64);
                let old = found.unwrap_or(0);
                // An object without replicas can be scaled, as if it had none.
                let mut viewed = live.clone();
                if found.is_none() {
                    write_at(&mut viewed, &scale.spec_replicas_path, 0.into());
                }
                let wanted = make(context, &view(scale, &viewed)?)?;
                let mut object = live.clone();
                let new = wanted["spec"].get("replicas").and_then(Value::as_i64).unwrap_or(0);
                write_at(&mut object, &scale.spec_replicas_path, new.into());
                let replicas = Replicas { path: &path, old, new };
                object = owners::as_writer(self, context, target, |writer| {
                    ownership::update(object, replicas, writer)
                });
                if let Some(metadata) = meta::metadata_mut(&mut object)
                    && !meta::resource_version(&wanted).is_empty()
                {
                    metadata.insert("resourceVersion".into(), meta::resource_version(&wanted).into());
                }
                let uid = Some(meta::uid(&wanted)).filter(|uid| !uid.is_empty()).map(str::to_owned);
                Ok(Changed { object, ownership: Ownership::Applied, expected_uid: uid })
            })
            .await?;
        as_scale(target, &written)
    }
}

fn as_scale(target: &Target<'_>, written: &Written) -> Result<Written, Status> {
    let object = machinery::decode::own(&written.object)
        .map_err(|_| Status::internal("a stored object is no JSON"))?;
    Ok(Written { object: get(target.served, &object)?, created: written.created })
}
