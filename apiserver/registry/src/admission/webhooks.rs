//! Calls of admission webhooks.

use std::sync::Arc;

use cel::program::Input;
use futures::future::join_all;
use kinds::Subresource;
use kinds::definition::Version;
use machinery::patch;
use machinery::status::Status;
use serde_json::{Value, json};

use super::attributes::Attributes;
use super::case::Case;
use super::patched::{check_patched, rescaled};
use super::response::{self, Verdict};
use super::review::Operation;
use super::webhook::Webhook;
use crate::versions::current::Versions;
use crate::write::decode;

/// What the first round of mutating webhooks has done.
pub(crate) struct Round {
    /// For each webhook that may be called again: the object after its call.
    seen: Vec<Option<Value>>,
    /// Whether a webhook has changed the object.
    pub(crate) changed: bool,
}

/// Calls the mutating webhooks one after the other, each with the object as the previous ones changed it.
pub(crate) async fn mutate(
    versions: &Versions,
    webhooks: &[Webhook],
    attributes: &Attributes<'_>,
    object: &mut Value,
    warnings: &mut Vec<String>,
) -> Result<Round, Status> {
    let mut round = Round { seen: Vec::with_capacity(webhooks.len()), changed: false };
    for webhook in webhooks {
        let called = mutate_one(versions, webhook, attributes, object, warnings).await?;
        round.changed |= called == Called::Changed;
        round.seen.push((called != Called::No && webhook.again).then(|| object.clone()));
    }
    Ok(round)
}

/// Calls the webhooks with `reinvocationPolicy: IfNeeded` again, if the object has changed since their call.
pub(crate) async fn mutate_again(
    versions: &Versions,
    webhooks: &[Webhook],
    attributes: &Attributes<'_>,
    round: Round,
    object: &mut Value,
    warnings: &mut Vec<String>,
) -> Result<(), Status> {
    for (webhook, seen) in webhooks.iter().zip(round.seen) {
        if seen.is_some_and(|seen| seen != *object) {
            mutate_one(versions, webhook, attributes, object, warnings).await?;
        }
    }
    Ok(())
}

/// What became of a call.
#[derive(PartialEq, Eq)]
enum Called {
    /// The webhook does not match the request.
    No,
    Unchanged,
    Changed,
}

/// Calls a webhook that matches the request and applies its patch.
async fn mutate_one(
    versions: &Versions,
    webhook: &Webhook,
    attributes: &Attributes<'_>,
    object: &mut Value,
    warnings: &mut Vec<String>,
) -> Result<Called, Status> {
    let Some((version, case)) = concerns(versions, webhook, attributes, object).await? else {
        return Ok(Called::No);
    };
    let Some(verdict) = call(versions, webhook, attributes.dry_run, case, true).await? else {
        return Ok(Called::Unchanged);
    };
    warnings.extend(verdict.warnings);
    if let Some(status) = &verdict.denied {
        return Err(response::denial(&webhook.name, status));
    }
    if verdict.patch.is_empty() {
        return Ok(Called::Unchanged);
    }
    if attributes.operation == Operation::Delete {
        let why = "attempted to modify the object, which is not supported for this operation";
        return Err(Status::internal(format!("admission webhook {:?} {why}", webhook.name)));
    }
    let patched = patched(versions, attributes, object, &version, &verdict.patch).await?;
    let called = if patched == *object { Called::Unchanged } else { Called::Changed };
    *object = patched;
    Ok(called)
}

/// Returns the object after the webhook's patch, in the version of the request and with its defaults.
async fn patched(
    versions: &Versions,
    attributes: &Attributes<'_>,
    object: &Value,
    version: &Version,
    text: &[u8],
) -> Result<Value, Status> {
    let served = attributes.target.served;
    let shown = attributes.shown(versions, object, version).await?;
    let patched = patch::json_patch(&shown, text).map_err(|status| Status::internal(status.message))?;
    if attributes.target.subresource == Subresource::Scale {
        return rescaled(&attributes.target, object, &patched.object);
    }
    check_patched(&versions.definitions(), served, version, &patched.object)?;
    let mut object = versions.in_version(&served.definition, &served.version, patched.object).await?;
    decode::shape(served, &mut object).map_err(Status::internal)?;
    Ok(object)
}

/// Calls all validating webhooks that match the request, concurrently.
pub(crate) async fn validate(
    versions: &Versions,
    webhooks: &[Webhook],
    attributes: &Attributes<'_>,
    object: &Value,
    warnings: &mut Vec<String>,
) -> Result<(), Status> {
    let mut calls = Vec::new();
    for webhook in webhooks {
        if let Some((_, case)) = concerns(versions, webhook, attributes, object).await? {
            calls.push(
                async move { (webhook, call(versions, webhook, attributes.dry_run, case, false).await) },
            );
        }
    }
    let mut refusal = None;
    for (webhook, verdict) in join_all(calls).await {
        match verdict {
            Ok(Some(verdict)) => {
                warnings.extend(verdict.warnings);
                let denied = verdict.denied.map(|status| response::denial(&webhook.name, &status));
                refusal = refusal.or(denied);
            }
            Ok(None) => {}
            Err(status) => refusal = refusal.or(Some(status)),
        }
    }
    refusal.map_or(Ok(()), Err)
}

/// Returns the version in which the request matches the webhook and the request in that version, or `None` if it does
/// not match. If the objects cannot be converted, the failure counts as a failed call, unless match conditions need the
/// objects.
async fn concerns(
    versions: &Versions,
    webhook: &Webhook,
    attributes: &Attributes<'_>,
    object: &Value,
) -> Result<Option<(Arc<Version>, Result<Case, Status>)>, Status> {
    let Some(version) = webhook.matcher.matches(versions, attributes, object)? else { return Ok(None) };
    let case = attributes.case(versions, object, &version).await;
    if webhook.conditions.is_empty() {
        return Ok(Some((version, case)));
    }
    let case = case?;
    let variables = vec![
        ("object", &case.object),
        ("oldObject", &case.old),
        ("request", &case.request),
        ("namespaceObject", &Value::Null),
    ];
    match webhook.conditions.hold(&Input::new(variables).authorizer(attributes)) {
        Ok(true) => Ok(Some((version, Ok(case)))),
        Ok(false) => Ok(None),
        Err(_) if webhook.ignore => Ok(None),
        Err(why) => {
            let target = &attributes.target;
            let why = format!("webhook {:?} match conditions failed to evaluate: {why}", webhook.name);
            Err(Status::forbidden(target.served.resource(), target.name, &why))
        }
    }
}

/// Calls a webhook and returns its verdict, or `None` if the call failed and the webhook has `failurePolicy: Ignore`.
async fn call(
    versions: &Versions,
    webhook: &Webhook,
    dry_run: bool,
    case: Result<Case, Status>,
    mutating: bool,
) -> Result<Option<Verdict>, Status> {
    if dry_run && !webhook.dry_run {
        let why = format!("admission webhook \"{}\" does not support dry run", webhook.name);
        return Err(Status::bad_request(why));
    }
    let verdict = match case {
        Ok(case) => try_call(versions, webhook, case, mutating).await,
        Err(status) => Err(status.message),
    };
    match verdict {
        Ok(verdict) => Ok(Some(verdict)),
        Err(why) if webhook.ignore => {
            tracing::warn!(webhook = webhook.name, why, "a webhook failed and is ignored");
            Ok(None)
        }
        Err(why) => Err(Status::internal(format!("failed calling webhook \"{}\": {why}", webhook.name))),
    }
}

async fn try_call(
    versions: &Versions,
    webhook: &Webhook,
    case: Case,
    mutating: bool,
) -> Result<Verdict, String> {
    let client = webhook.client.as_ref().ok_or("its clientConfig is invalid")?;
    let uid = versions.webhooks().new_uid();
    let mut request = case.request;
    request["uid"] = uid.as_str().into();
    request["object"] = case.object;
    request["oldObject"] = case.old;
    let review = json!({"kind": "AdmissionReview", "apiVersion": webhook.version, "request": request});
    let answer = versions.webhooks().call(client, webhook.timeout, &review).await;
    let answer = answer.map_err(|error| format!("failed to call webhook: {error}"))?;
    let mut verdict = response::read(&answer, webhook.version, &uid, mutating)
        .map_err(|why| format!("received invalid webhook response: {why}"))?;
    if !verdict.patch.is_empty() {
        let operations = machinery::decode::own::<Vec<Value>>(&verdict.patch);
        let operations =
            operations.map_err(|why| format!("received undecodable patch in webhook response: {why}"))?;
        if operations.is_empty() {
            verdict.patch.clear();
        }
    }
    Ok(verdict)
}
