//! Whoever writes a policy or a binding must be allowed to read the parameters, which the policy could show.

use kinds::Subresource;
use kinds::user::{GROUP_MASTERS, User};
use machinery::field::{FieldError, FieldErrorKind};
use machinery::go::go_text;
use machinery::meta;
use machinery::status::Status;
use serde_json::{Value, json};

use super::params;
use crate::context::Context;
use crate::permissions::{Resource, Subject};
use crate::storage::keys::ADMISSION_GROUP;
use crate::target::Target;
use crate::versions::current::Versions;

/// Refuses the write of a policy or a binding whose parameters the user may not read.
///
/// # Errors
/// 422 for the field that names the parameters.
pub(crate) fn check(
    versions: &Versions,
    context: &Context,
    target: &Target<'_>,
    old: Option<&Value>,
    object: &Value,
) -> Result<(), Status> {
    let definition = &target.served.definition;
    let user = &context.user;
    if definition.group != ADMISSION_GROUP
        || !definition.built_in
        || target.subresource != Subresource::None
        || !context.permissions.are_decided()
        || user.groups.iter().any(|group| group == GROUP_MASTERS)
    {
        return Ok(());
    }
    let refused = match definition.plural.as_str() {
        "validatingadmissionpolicies" | "mutatingadmissionpolicies" => {
            kind_refused(versions, context, old, object).map(|why| ("spec.paramKind", why))
        }
        "validatingadmissionpolicybindings" => {
            let policies = "validatingadmissionpolicies";
            reference_refused(versions, context, policies, object).map(|why| ("spec.paramRef", why))
        }
        "mutatingadmissionpolicybindings" => {
            let policies = "mutatingadmissionpolicies";
            reference_refused(versions, context, policies, object).map(|why| ("spec.paramRef", why))
        }
        _ => None,
    };
    let Some((field, why)) = refused else { return Ok(()) };
    let error = FieldError::bare(FieldErrorKind::Forbidden, field, why);
    Err(Status::invalid(&definition.group, &definition.kind, meta::name(object), &[error]))
}

/// Returns why the kind of parameters is refused, which must be readable everywhere.
fn kind_refused(
    versions: &Versions,
    context: &Context,
    old: Option<&Value>,
    object: &Value,
) -> Option<String> {
    let kind = &object["spec"]["paramKind"];
    if kind.is_null() || old.is_some_and(|old| old["spec"]["paramKind"] == *kind) {
        return None;
    }
    let (group, resource) = resource(versions, kind);
    let everything =
        Resource { group, resource, namespace: "*".into(), name: "*".into(), ..Resource::default() };
    let text = |name: &str| kind[name].as_str().unwrap_or_default();
    (!permits(context, "get", everything)).then(|| {
        format!(
            "user {} must have \"get\" permission on all objects of the referenced paramKind (kind={}, apiVersion={})",
            shown(&context.user), text("kind"), text("apiVersion")
        )
    })
}

/// Returns why the reference of a binding to parameters is refused.
fn reference_refused(
    versions: &Versions,
    context: &Context,
    policies: &str,
    object: &Value,
) -> Option<String> {
    let reference = &object["spec"]["paramRef"];
    if reference.is_null() {
        return None;
    }
    let text = |name: &str| reference[name].as_str().unwrap_or_default().to_owned();
    let policy_name = object["spec"]["policyName"].as_str().unwrap_or_default();
    let policy = versions.reader().stored_object(ADMISSION_GROUP, policies, "", policy_name);
    let kind = policy.as_ref().map(|policy| &policy["spec"]["paramKind"]);
    let (group, resource) = resource(versions, kind.unwrap_or(&Value::Null));
    let is_known = resource != "*" || kind.is_some_and(Value::is_null);
    let verb = if text("name").is_empty() { "list" } else { "get" };
    let asked =
        Resource { group, resource, namespace: text("namespace"), name: text("name"), ..Resource::default() };
    if permits(context, verb, asked) {
        return None;
    }
    let user = shown(&context.user);
    let all =
        format!("user {user} does not have \"{verb}\" permission for all groups, versions and resources");
    Some(match kind {
        None => {
            format!("unable to get policy {policy_name} to determine minimum required permissions and {all}")
        }
        Some(kind) if !is_known => {
            let field = |name: &str| kind[name].as_str().unwrap_or_default();
            let shown = format!("&ParamKind{{APIVersion:{},Kind:{},}}", field("apiVersion"), field("kind"));
            format!("unable to resolve paramKind {shown} to determine minimum required permissions and {all}")
        }
        // The message of kube-apiserver has the user and the verb of mutating policies in the other order.
        Some(_) if policies.starts_with("mutating") => {
            format!("user {verb} does not have \"{user}\" permission on the object referenced by paramRef")
        }
        Some(_) => {
            format!("user {user} does not have \"{verb}\" permission on the object referenced by paramRef")
        }
    })
}

fn permits(context: &Context, verb: &str, resource: Resource) -> bool {
    context.permissions.permits(&context.user, verb, &Subject::Resource(resource)).0
}

/// Returns the group and the resource of a kind; `*` for what is not known.
fn resource(versions: &Versions, kind: &Value) -> (String, String) {
    let any = || "*".to_owned();
    let Some(api_version) = kind["apiVersion"].as_str() else { return (any(), any()) };
    let (group, version) = meta::group_version(api_version);
    let definitions = versions.definitions();
    let found = params::served(&definitions, group, version, kind["kind"].as_str().unwrap_or_default());
    (group.to_owned(), found.map_or_else(any, |definition| definition.plural.clone()))
}

/// Returns a user as Go prints it.
fn shown(user: &User) -> String {
    let (groups, extra) = (go_text(&json!(user.groups)), go_text(&json!(user.extra)));
    format!("&{{{} {} {groups} {extra}}}", user.name, user.uid)
}
