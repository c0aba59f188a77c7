//! The verb `patch`.

use kinds::Subresource;
use machinery::clock::Clock;
use machinery::field::{FieldError, FieldErrorKind};
use machinery::status::Status;
use machinery::{apply, meta, patch};
use serde_json::{Value, json};

use super::create;
use super::scale::write as scale;
use crate::context::{Context, FieldValidation, Input, PatchBody};
use crate::response::Written;
use crate::target::Target;
use crate::versions::current::Versions;
use crate::versions::definitions::Served;
use crate::write::changed::{Changed, Ownership};
use crate::write::decode;
use crate::write::identity;
use crate::write::metadata;
use crate::write::ownership;
use crate::write::writes::Writes;

/// Patches an object or a subresource. An apply creates the object if it does not exist.
pub(crate) async fn patch(
    writes: &Writes,
    context: &mut Context,
    served: &Served,
    namespace: &str,
    name: &str,
    subresource: Subresource,
    body: PatchBody,
) -> Result<Written, Status> {
    let target = Target { served, namespace, name, subresource };
    if subresource == Subresource::Scale {
        return scale::patch_scale(writes, context, &target, body).await;
    }
    if let PatchBody::Apply { input, force } = body {
        return apply(writes, context, &target, input, force).await;
    }
    writes
        .change(context, &target, |context, live| {
            let object = patched(writes.versions(), context, &target, live, &body)?;
            Ok(Changed { object, ownership: Ownership::Note, expected_uid: None })
        })
        .await
}

async fn apply(
    writes: &Writes,
    context: &mut Context,
    target: &Target<'_>,
    input: Input,
    force: bool,
) -> Result<Written, Status> {
    let served = target.served;
    let config = input.object;
    decode::strictness(context, input.strict_errors).map_err(Status::bad_request)?;
    let namespaced = served.definition.namespaced;
    let exists = writes.storage().get(&target.key()).is_some();
    if !exists && target.subresource != Subresource::None {
        return Err(target.not_found());
    }
    identity::check_applied(&config, &served.api_version(), &served.definition.kind)?;
    if !exists {
        let uid = meta::uid(&config);
        if !uid.is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(Status::conflict(served.resource(), target.name, &why));
        }
        let bare = json!({"apiVersion": served.api_version(), "kind": served.definition.kind});
        let mut object = loop {
            let applied = applied(writes.clock(), context, target, &bare, &config, force);
            if !ownership::convert_missing(writes.versions(), context, served).await? {
                break applied?;
            }
        };
        check_revision(&object)?;
        if let (false, Some(metadata)) = (context.dry_run, meta::metadata_mut(&mut object)) {
            metadata.remove("resourceVersion");
        }
        identity::identify(namespaced, target.namespace, target.name, &mut object)?;
        finish(context, served, &mut object)?;
        context.warnings.extend(metadata::dedup_owners(&mut object));
        match create::create_object(writes, context, *target, object, Ownership::Applied).await {
            // Another client has created the object in the meantime, so it is updated.
            Err(status) if status.reason == "AlreadyExists" => {}
            answer => return answer,
        }
    }
    writes
        .change(context, target, |context, live| {
            let mut object = applied(writes.clock(), context, target, live, &config, force)?;
            let is_changed = is_changed(live, &object);
            identity::identify(namespaced, target.namespace, target.name, &mut object)?;
            // What an apply leaves as it is does not get defaults: a conversion may lose them, and then they would be new each time.
            if is_changed {
                finish(context, served, &mut object)?;
            }
            context.warnings.extend(metadata::dedup_owners(&mut object));
            Ok(Changed { object, ownership: Ownership::Applied, expected_uid: None })
        })
        .await
}

fn applied(
    clock: &Clock,
    context: &Context,
    target: &Target<'_>,
    live: &Value,
    config: &Value,
    force: bool,
) -> Result<Value, Status> {
    ownership::as_writer(clock, context, target, |writer| apply::apply(live, config, force, writer))
}

/// Decodes an applied object and sets defaults. The applying manager does not own the defaults.
fn finish(context: &mut Context, served: &Served, object: &mut Value) -> Result<(), Status> {
    if served.definition.built_in {
        let unknown = decode::shape(served, object).map_err(|problem| decode::refused(served, &problem))?;
        decode::strictness(context, unknown).map_err(|problem| decode::refused(served, &problem))?;
    } else {
        // Validation refuses null in an applied configuration; in other bodies, null is dropped.
        let filled = decode::fill(&served.version.schema, object);
        filled.map_err(|problem| decode::refused(served, &problem))?;
        decode::metadata(object);
        served.strategy().normalize(object);
    }
    Ok(())
}

/// Returns whether an apply has changed more than who owns which field.
fn is_changed(live: &Value, object: &Value) -> bool {
    fn fields<'v>(value: &'v Value, but: &'static str) -> impl Iterator<Item = (&'v String, &'v Value)> {
        value.as_object().into_iter().flatten().filter(move |(key, _)| *key != but)
    }
    fields(live, "metadata").ne(fields(object, "metadata"))
        || fields(&live["metadata"], "managedFields").ne(fields(&object["metadata"], "managedFields"))
}

/// Returns `live` after the patch, decoded like any body.
fn patched(
    versions: &Versions,
    context: &mut Context,
    target: &Target<'_>,
    live: &Value,
    body: &PatchBody,
) -> Result<Value, Status> {
    let served = target.served;
    let patch::Patched { mut object, problems } = patched_json(served, live, body)?;
    if !served.definition.built_in && context.field_validation != FieldValidation::Ignore {
        let unknown = unknown_version(served, &object);
        decode::strictness(context, unknown).map_err(|problem| unfit(served, &object, &problem))?;
    }
    check_kind(versions, served, &object)?;
    let checked = decode::shape(served, &mut object).and_then(|unknown| {
        let problems = problems.into_iter().chain(unknown).collect();
        decode::strictness(context, problems)
    });
    if let Err(problem) = checked {
        if let PatchBody::Strategic(text) = body {
            return Err(patch::unfit_strategic(text, &problem));
        }
        // The message shows the object before unknown fields were removed.
        return Err(unfit(served, &patched_json(served, live, body)?.object, &problem));
    }
    identity::identify(served.definition.namespaced, target.namespace, target.name, &mut object)?;
    context.warnings.extend(metadata::dedup_owners(&mut object));
    Ok(object)
}

/// Refuses a patch that changes `kind` or `apiVersion`.
fn check_kind(versions: &Versions, served: &Served, object: &Value) -> Result<(), Status> {
    let definition = &served.definition;
    let (kind, api_version) = (meta::kind(object), meta::api_version(object));
    let wanted = served.api_version();
    if definition.built_in {
        if api_version != wanted || kind != definition.kind {
            let problem = match other_kind(versions, api_version, kind) {
                // Like in Go, the object is decoded as the kind that it names before the wrong kind is reported.
                Some(other) => match decode::shape(&other, &mut object.clone()) {
                    Err(problem) => problem,
                    Ok(_) => format!(
                        "converting ({}.{kind}) to (core.{}): unknown conversion",
                        other.version.name, definition.kind
                    ),
                },
                None => format!(
                    "no kind \"{kind}\" is registered for version \"{api_version}\" in scheme \"pkg/runtime/scheme.go:111\""
                ),
            };
            return Err(unfit(served, object, &problem));
        }
        return Ok(());
    }
    let mut errors = Vec::new();
    if kind != definition.kind {
        let detail = format!("must be {}", definition.kind);
        errors.push(FieldError::new(FieldErrorKind::Invalid, "kind", &kind.into(), detail));
    }
    if api_version != wanted {
        let detail = format!("must be {wanted}");
        errors.push(FieldError::new(FieldErrorKind::Invalid, "apiVersion", &api_version.into(), detail));
    }
    if errors.is_empty() {
        return Ok(());
    }
    if kind.is_empty() {
        return Err(unfit(served, object, &format!("Object 'Kind' is missing in '{object}'")));
    }
    let (group, _) = meta::group_version(api_version);
    Err(Status::invalid(group, kind, meta::name(object), &errors))
}

/// Returns the built-in kind with the given version and kind.
fn other_kind(versions: &Versions, api_version: &str, kind: &str) -> Option<Served> {
    let (group, version) = meta::group_version(api_version);
    let definitions = versions.definitions();
    let definition = definitions.by_kind(group, kind).filter(|definition| definition.built_in)?;
    definitions.served(group, version, &definition.plural)
}

/// Validates the `resourceVersion` of an object that does not exist: there is nothing to compare it with, but it must
/// be a number. A dry run returns it.
fn check_revision(object: &Value) -> Result<(), Status> {
    let given = meta::resource_version(object);
    if given.is_empty() || given.parse::<u64>().is_ok() {
        return Ok(());
    }
    Err(Status::new(500, "", format!("strconv.ParseUint: parsing \"{given}\": invalid syntax")))
}

fn patched_json(served: &Served, live: &Value, body: &PatchBody) -> Result<patch::Patched, Status> {
    match body {
        PatchBody::Json(text) => patch::json_patch(live, text),
        PatchBody::Merge(text) => patch::merge_patch(live, text),
        PatchBody::Strategic(text) => patch::strategic_merge_patch(live, text, &served.version.schema),
        PatchBody::Apply { .. } => Err(Status::internal("an apply cannot be executed as a patch")),
    }
}

/// Returns the findings of strict decoding for the version that the object names, if it is in the resource's group. A
/// version that does not exist has only the fields that all objects have.
pub fn unknown_version(served: &Served, object: &Value) -> Vec<String> {
    let group = &served.definition.group;
    let asked = meta::api_version(object);
    if meta::group_version(asked).0 != group {
        return Vec::new();
    }
    let mut versions = served.definition.versions.iter();
    if let Some(version) = versions.find(|version| asked == format!("{group}/{}", version.name)) {
        if served.definition.built_in || meta::kind(object) != served.definition.kind {
            return Vec::new();
        }
        let unknown = machinery::schema::coerce(&version.schema, &mut object.clone()).unwrap_or_default();
        return unknown.into_iter().map(|path| format!("unknown field \"{path}\"")).collect();
    }
    let fields = object.as_object().into_iter().flat_map(serde_json::Map::keys);
    let unknown = fields.filter(|name| !matches!(name.as_str(), "apiVersion" | "kind" | "metadata"));
    let unknown = unknown.map(|name| format!("unknown field \"{name}\""));
    unknown.chain(kinds::metadata::prune(&mut object.clone())).collect()
}

/// Returns 422: the patched object cannot be decoded as its kind.
fn unfit(served: &Served, object: &Value, problem: &str) -> Status {
    patch::invalid_result(object, served.definition.built_in, problem)
}
