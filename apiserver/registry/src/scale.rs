//! The `/scale` subresource: an `autoscaling/v1` Scale that is built from three JSON paths of an object.

use machinery::apply::scale as ownership;
use machinery::field::{FieldError, FieldErrorKind};
use machinery::go::{go_text, go_type};
use machinery::status::{GroupResource, Status};
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

/// Splits a path such as `.spec.replicas`.
fn steps(path: &str) -> impl Iterator<Item = &str> {
    path.split('.').filter(|step| !step.is_empty())
}

/// Returns the value at `path`, which can be null; `None` if it is absent.
fn at<'v>(object: &'v Value, path: &str) -> Option<&'v Value> {
    steps(path).try_fold(object, |value, step| value.get(step))
}

fn read<'v>(object: &'v Value, path: &str) -> Option<&'v Value> {
    at(object, path).filter(|value| !value.is_null())
}

/// Writes a replica count and creates missing objects on the way. The error names a value on the way that is not an
/// object.
fn write_at(object: &mut Value, path: &str, value: Value) -> Result<(), Status> {
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

/// Checks the types of a Scale like Go's decoder.
fn check_types(scale: &Value) -> Result<(), String> {
    for (part, holder) in [("metadata", "ObjectMeta"), ("spec", "ScaleSpec"), ("status", "ScaleStatus")] {
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
            let exact = found == "number" && wanted == "int32";
            let found = if exact { format!("number {value}") } else { found.to_owned() };
            let holder = if part == "spec" { "ScaleSpec" } else { "ScaleStatus" };
            return Err(format!(
                "json: cannot unmarshal {found} into Go struct field {holder}.{part}.{field} of type {wanted}"
            ));
        }
    }
    Ok(())
}

/// Validates the replica counts and the selector.
pub(crate) fn validate(version: &Version, object: &Value) -> Vec<FieldError> {
    let Some(scale) = &version.scale else { return Vec::new() };
    let mut errors = check_counts(object, &[&scale.spec_replicas_path, &scale.status_replicas_path]);
    errors.extend(check_selector(object, scale));
    errors
}

/// Validates the replica count in `status` and the selector.
pub(crate) fn validate_status(version: &Version, object: &Value) -> Vec<FieldError> {
    let Some(scale) = &version.scale else { return Vec::new() };
    let mut errors = check_counts(object, &[&scale.status_replicas_path]);
    errors.extend(check_selector(object, scale));
    errors
}

/// Checks that the selector is a string.
fn check_selector(object: &Value, scale: &Scale) -> Option<FieldError> {
    let path = scale.label_selector_path.as_deref()?;
    if let Some(error) = blocked(object, path) {
        return Some(FieldError::new(FieldErrorKind::Invalid, path, &"".into(), error.detail));
    }
    let found = at(object, path).filter(|found| !found.is_string())?;
    let (text, go_type) = (go_text(found), go_type(found));
    let detail = format!("{path} accessor error: {text} is of the type {go_type}, expected string");
    Some(FieldError::new(FieldErrorKind::Invalid, path, &"".into(), detail))
}

/// Returns an error if a value on the way to `path` is not an object.
fn blocked(object: &Value, path: &str) -> Option<FieldError> {
    let (mut value, mut walked) = (object, String::new());
    for step in steps(path) {
        walked = format!("{walked}.{step}");
        match value {
            Value::Null => return None,
            Value::Object(map) => value = map.get(step)?,
            other => {
                let (found, go_type) = (go_text(other), go_type(other));
                let detail = format!(
                    "{walked} accessor error: {found} is of the type {go_type}, expected map[string]interface{{}}"
                );
                return Some(FieldError::new(FieldErrorKind::Invalid, path, &0.into(), detail));
            }
        }
    }
    None
}

fn check_counts(object: &Value, paths: &[&String]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for path in paths {
        if let Some(error) = blocked(object, path) {
            errors.push(error);
            continue;
        }
        let Some(found) = at(object, path) else { continue };
        let Some(replicas) = found.as_i64() else {
            let go_type = go_type(found);
            let found = go_text(found);
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

/// Returns the Scale of an object as JSON text.
pub(crate) fn get(served: &Served, object: &Value) -> Result<bytes::Bytes, Status> {
    let scale = served.version.scale.as_ref().ok_or_else(Status::no_such_path)?;
    Ok(document::text(&view(scale, object)?))
}

/// Returns the Scale of an object, or null if it has none.
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

/// Removes unknown fields of a Scale, and returns the findings of strict decoding.
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

/// Returns whether the object is of a built-in kind, for which messages and checks differ.
fn built_in(target: &Target<'_>) -> bool {
    target.served.definition.built_in
}

/// Returns 400: the body cannot be decoded as a Scale.
fn undecodable(target: &Target<'_>, problem: &str) -> Status {
    if built_in(target) {
        return Status::bad_request(format!(
            "Scale in version \"v1\" cannot be handled as a Scale: {problem}"
        ));
    }
    Status::bad_request("no kind is registered for the type v1.Scale in scheme \"pkg/runtime/scheme.go:111\"")
}

impl Registry {
    pub(crate) async fn update_scale(
        &self,
        context: &mut Context,
        target: &Target<'_>,
        input: Input,
    ) -> Result<Written, Status> {
        let mut wanted = input.object;
        check_types(&wanted).map_err(|problem| undecodable(target, &problem))?;
        let mut problems = input.strict_errors;
        problems.extend(prune(&mut wanted));
        decode::strictness(context, problems).map_err(|problem| undecodable(target, &problem))?;
        write::identify(target.served.definition.namespaced, target.namespace, target.name, &mut wanted)?;
        let uid = Some(meta::uid(&wanted)).filter(|uid| !uid.is_empty()).map(str::to_owned);
        self.change_scale(context, target, uid, |_, _| Ok(wanted.clone())).await
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
        self.change_scale(context, target, None, |context, live| {
            let patch::Patched { object: mut patched, mut problems } = match &body {
                PatchBody::Json(text) => patch::json_patch(live, text)?,
                PatchBody::Merge(text) => patch::merge_patch(live, text)?,
                PatchBody::Strategic(text) => patch::strategic_merge_patch(live, text, ownership::schema())?,
                PatchBody::Apply { .. } => return Err(Status::internal("an apply is no patch of an object")),
            };
            let before = patched.clone();
            let unfit = |problem: &str| match &body {
                PatchBody::Strategic(text) => patch::unfit_strategic(text, problem),
                _ => patch::invalid_result(&before, true, problem),
            };
            let (api_version, kind) = (meta::api_version(&patched), meta::kind(&patched));
            let named = |given: &str, wanted: &str| given.is_empty() || given == wanted;
            if !named(api_version, ownership::API_VERSION) || !named(kind, "Scale") {
                return Err(unfit(&wrong_kind(api_version, kind)));
            }
            if let (PatchBody::Strategic(_), Some(replicas)) = (&body, patched["spec"].get_mut("replicas")) {
                if replicas.is_f64() {
                    return Err(unfit("cannot convert float64 to int32"));
                }
                if let Some(count) = replicas.as_i64() {
                    *replicas = cut(count).into();
                }
            }
            check_types(&patched).map_err(|problem| unfit(&problem))?;
            problems.extend(prune(&mut patched));
            decode::strictness(context, problems).map_err(|problem| unfit(&problem))?;
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
        crate::patch::check_applied(&config, ownership::API_VERSION, "Scale")?;
        let path = ownership::steps(&scale.spec_replicas_path);
        let written = self
            .change(context, target, |context, live| {
                let before = ownership::with_managers(viewed(scale, live)?, live, &path);
                // A real API server fails here, because it cannot convert a Scale to a version of the custom resource.
                let cannot = |what: &str, name: String| {
                    Status::generic(format!(
                        "{what} ({name}; autoscaling/v1, Kind=Scale) to proper version: \
                         request to convert CR to an invalid group/version: autoscaling/v1"
                    ))
                };
                if !built_in(target) && !ownership::is_owned(&before) {
                    let what = "failed to create manager for existing fields: failed to convert live object";
                    return Err(cannot(what, "/".to_owned()));
                }
                let mut applied = owners::as_writer(self, context, target, |writer| {
                    ownership::apply(&before, &config, force, writer)
                })?;
                if !built_in(target) && ownership::differ(&applied, &before) {
                    let name = format!("{}/{}", meta::namespace(&config), meta::name(&config));
                    return Err(cannot("failed to convert new object", name));
                }
                let namespaced = target.served.definition.namespaced;
                write::identify(namespaced, target.namespace, target.name, &mut applied)?;
                scaled(target, scale, live, &applied)
            })
            .await?;
        as_scale(target, &written)
    }

    /// Changes the replicas of an object. If `uid` is given, the object must have it.
    async fn change_scale(
        &self,
        context: &mut Context,
        target: &Target<'_>,
        uid: Option<String>,
        mut make: impl FnMut(&mut Context, &Value) -> Result<Value, Status>,
    ) -> Result<Written, Status> {
        let scale = paths(target)?;
        let path = ownership::steps(&scale.spec_replicas_path);
        let written = self
            .change(context, target, |context, live| {
                let before = ownership::with_managers(viewed(scale, live)?, live, &path);
                if let Some(uid) = uid.as_deref() {
                    crate::update::check_uid(target, live, Some(uid))?;
                }
                let mut wanted = make(context, &before)?;
                // Go omits a zero, so no field manager owns it.
                if let Some(spec) = wanted["spec"].as_object_mut() {
                    spec.retain(|_, value| *value != 0);
                }
                let wanted = owners::as_writer(self, context, target, |writer| {
                    ownership::update(&before, wanted, writer)
                });
                let changed = scaled(target, scale, live, &wanted)?;
                Ok(Changed { expected_uid: uid.clone(), ..changed })
            })
            .await?;
        as_scale(target, &written)
    }
}

/// Returns the Scale of an object. If the object has no replicas, they count as 0, so that it can be scaled.
fn viewed(scale: &Scale, live: &Value) -> Result<Value, Status> {
    if read(live, &scale.spec_replicas_path).is_some_and(Value::is_i64) {
        return view(scale, live);
    }
    let mut object = json!({"metadata": live["metadata"], "status": live["status"]});
    write_at(&mut object, &scale.spec_replicas_path, 0.into())?;
    view(scale, &object)
}

/// Returns `live` with the replicas of `wanted` and their owners.
fn scaled(target: &Target<'_>, scale: &Scale, live: &Value, wanted: &Value) -> Result<Changed, Status> {
    let replicas = wanted["spec"].get("replicas").and_then(Value::as_i64).unwrap_or(0);
    if built_in(target) {
        check_scale(target, live, wanted, replicas)?;
    }
    let mut object = live.clone();
    write_at(&mut object, &scale.spec_replicas_path, replicas.into())?;
    let path = ownership::steps(&scale.spec_replicas_path);
    object = ownership::to_object(object, wanted, &path, &target.served.api_version());
    let revision = meta::resource_version(wanted);
    if let (Some(metadata), false) = (meta::metadata_mut(&mut object), revision.is_empty()) {
        metadata.insert("resourceVersion".into(), revision.into());
    }
    Ok(Changed { object, ownership: Ownership::Applied, expected_uid: None })
}

/// Truncates a count to 32 bits. A count that Go's decoder has not checked may be larger.
#[expect(clippy::cast_possible_truncation, reason = "that is what Go does")]
fn cut(replicas: i64) -> i32 {
    replicas as i32
}

/// Validates a Scale of a built-in kind before the object is validated.
fn check_scale(target: &Target<'_>, live: &Value, wanted: &Value, replicas: i64) -> Result<(), Status> {
    let count = cut(replicas);
    if count < 0 {
        let why = "must be greater than or equal to 0";
        let error = FieldError::new(FieldErrorKind::Invalid, "spec.replicas", &count.into(), why);
        return Err(Status::invalid("autoscaling", "Scale", target.name, &[error]));
    }
    let (given, found) = (meta::uid(wanted), meta::uid(live));
    if !given.is_empty() && given != found {
        let GroupResource { group, resource } = target.served.resource();
        let resource = format!("{resource}/scale");
        let why = format!("Precondition failed: UID in precondition: {given}, UID in object meta: {found}");
        return Err(Status::conflict(GroupResource { group, resource: &resource }, target.name, &why));
    }
    Ok(())
}

/// Returns the message for a patched object that is not a Scale.
fn wrong_kind(api_version: &str, kind: &str) -> String {
    format!(
        "no kind \"{kind}\" is registered for version \"{api_version}\" in scheme \"pkg/runtime/scheme.go:111\""
    )
}

fn as_scale(target: &Target<'_>, written: &Written) -> Result<Written, Status> {
    let object = machinery::decode::own(&written.object)
        .map_err(|_| Status::internal("a stored object is no JSON"))?;
    Ok(Written { object: get(target.served, &object)?, created: written.created })
}
