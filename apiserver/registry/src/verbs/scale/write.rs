//! The `/scale` subresource: an `autoscaling/v1` Scale that is built from three JSON paths of an object.

use kinds::definition::Scale;
use machinery::apply::scale as ownership;
use machinery::field::{FieldError, FieldErrorKind};
use machinery::status::{GroupResource, Status};
use machinery::{meta, patch};
use serde_json::{Value, json};

use super::decode::{check_types, prune};
use super::view::{get, read, view, write_at};
use crate::context::{Context, Input, PatchBody};
use crate::response::Written;
use crate::target::Target;
use crate::write::changed::{Changed, Ownership};
use crate::write::decode;
use crate::write::identity;
use crate::write::ownership::as_writer;
use crate::write::writes::Writes;

fn paths<'s>(target: &Target<'s>) -> Result<&'s Scale, Status> {
    target.served.version.scale.as_ref().ok_or_else(Status::no_such_path)
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

pub(crate) async fn update_scale(
    writes: &Writes,
    context: &mut Context,
    target: &Target<'_>,
    input: Input,
) -> Result<Written, Status> {
    let mut wanted = input.object;
    check_types(&wanted).map_err(|problem| undecodable(target, &problem))?;
    let mut problems = input.strict_errors;
    problems.extend(prune(&mut wanted));
    decode::strictness(context, problems).map_err(|problem| undecodable(target, &problem))?;
    identity::identify(target.served.definition.namespaced, target.namespace, target.name, &mut wanted)?;
    let uid = Some(meta::uid(&wanted)).filter(|uid| !uid.is_empty()).map(str::to_owned);
    change_scale(writes, context, target, uid, |_, _| Ok(wanted.clone())).await
}

pub(crate) async fn patch_scale(
    writes: &Writes,
    context: &mut Context,
    target: &Target<'_>,
    body: PatchBody,
) -> Result<Written, Status> {
    if let PatchBody::Apply { input, force } = body {
        return apply_scale(writes, context, target, input, force).await;
    }
    change_scale(writes, context, target, None, |context, live| {
        let patch::Patched { object: mut patched, mut problems } = match &body {
            PatchBody::Json(text) => patch::json_patch(live, text)?,
            PatchBody::Merge(text) => patch::merge_patch(live, text)?,
            PatchBody::Strategic(text) => patch::strategic_merge_patch(live, text, ownership::schema())?,
            PatchBody::Apply { .. } => {
                return Err(Status::internal("an apply cannot be executed as a patch"));
            }
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
        identity::identify(target.served.definition.namespaced, target.namespace, target.name, &mut patched)?;
        Ok(patched)
    })
    .await
}

async fn apply_scale(
    writes: &Writes,
    context: &mut Context,
    target: &Target<'_>,
    input: Input,
    force: bool,
) -> Result<Written, Status> {
    let scale = paths(target)?;
    let config = input.object;
    if writes.storage().get(&target.key()).is_none() {
        return Err(target.not_found());
    }
    identity::check_applied(&config, ownership::API_VERSION, "Scale")?;
    let path = ownership::steps(&scale.spec_replicas_path);
    let written = writes
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
            let mut applied = as_writer(writes.clock(), context, target, |writer| {
                ownership::apply(&before, &config, force, writer)
            })?;
            if !built_in(target) && ownership::differ(&applied, &before) {
                let name = format!("{}/{}", meta::namespace(&config), meta::name(&config));
                return Err(cannot("failed to convert new object", name));
            }
            let namespaced = target.served.definition.namespaced;
            identity::identify(namespaced, target.namespace, target.name, &mut applied)?;
            scaled(target, scale, live, &applied)
        })
        .await?;
    as_scale(target, &written)
}

/// Changes the replicas of an object. If `uid` is given, the object must have it.
async fn change_scale(
    writes: &Writes,
    context: &mut Context,
    target: &Target<'_>,
    uid: Option<String>,
    mut make: impl FnMut(&mut Context, &Value) -> Result<Value, Status>,
) -> Result<Written, Status> {
    let scale = paths(target)?;
    let path = ownership::steps(&scale.spec_replicas_path);
    let written = writes
        .change(context, target, |context, live| {
            let before = ownership::with_managers(viewed(scale, live)?, live, &path);
            if let Some(uid) = uid.as_deref() {
                crate::write::change::check_uid(target, live, Some(uid))?;
            }
            let mut wanted = make(context, &before)?;
            // Go omits a zero, so no field manager owns it.
            if let Some(spec) = wanted["spec"].as_object_mut() {
                spec.retain(|_, value| *value != 0);
            }
            let wanted = as_writer(writes.clock(), context, target, |writer| {
                ownership::update(&before, wanted, writer)
            });
            let changed = scaled(target, scale, live, &wanted)?;
            Ok(Changed { expected_uid: uid.clone(), ..changed })
        })
        .await?;
    as_scale(target, &written)
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
        .map_err(|_| Status::internal("a stored object is not valid JSON"))?;
    Ok(Written { object: get(target.served, &object)?, created: written.created })
}
