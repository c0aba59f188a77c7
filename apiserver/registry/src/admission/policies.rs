//! Evaluation of ValidatingAdmissionPolicies.

use cel::program::{Answer, Input};
use kinds::definition::Version;
use machinery::meta;
use machinery::selector::LabelSelector;
use machinery::status::Status;
use serde_json::{Value, json};

use super::attributes::Attributes;
use super::case::Case;
use super::policy::{Binding, Policy, Validation};
use crate::versions::current::Versions;

/// A validation that is false or failed.
struct Violation {
    message: String,
    reason: String,
}

/// Evaluates all policies that match the request.
pub(crate) async fn validate(
    versions: &Versions,
    policies: &[Policy],
    attributes: &Attributes<'_>,
    object: &Value,
    warnings: &mut Vec<String>,
) -> Result<(), Status> {
    let mut refusal = None;
    for policy in policies {
        let Some(version) = policy.matcher.matches(versions, attributes, object)? else { continue };
        for binding in &policy.bindings {
            if let Some(matcher) = &binding.matcher
                && matcher.matches(versions, attributes, object)?.is_none()
            {
                continue;
            }
            for violation in violations(versions, policy, binding, attributes, object, &version).await? {
                if binding.warn {
                    warnings.push(format!(
                        "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                        policy.name, binding.name, violation.message
                    ));
                }
                if binding.deny && refusal.is_none() {
                    refusal = Some(refuse(attributes, object, policy, binding, &violation));
                }
            }
        }
    }
    refusal.map_or(Ok(()), Err)
}

fn refuse(
    attributes: &Attributes<'_>,
    object: &Value,
    policy: &Policy,
    binding: &Binding,
    violation: &Violation,
) -> Status {
    let message = format!(
        "ValidatingAdmissionPolicy '{}' with binding '{}' denied request: {}",
        policy.name, binding.name, violation.message
    );
    let target = &attributes.target;
    let name = if target.name.is_empty() { meta::name(object) } else { target.name };
    let mut status = Status::forbidden(target.served.resource(), name, &message);
    (status.code, status.reason) = match violation.reason.as_str() {
        "Forbidden" => (403, "Forbidden"),
        "Unauthorized" => (401, "Unauthorized"),
        "RequestEntityTooLarge" => (413, "RequestEntityTooLarge"),
        _ => (422, "Invalid"),
    };
    if let Some(Value::Object(details)) = &mut status.details {
        details.insert("causes".into(), json!([{"message": message}]));
    }
    status
}

async fn violations(
    versions: &Versions,
    policy: &Policy,
    binding: &Binding,
    attributes: &Attributes<'_>,
    object: &Value,
    version: &Version,
) -> Result<Vec<Violation>, Status> {
    let params = match params(versions, policy, binding, attributes).await {
        Ok(params) => params,
        Err(_) if policy.ignore => return Ok(Vec::new()),
        Err(message) => return Ok(vec![Violation { message, reason: String::new() }]),
    };
    let case = attributes.case(versions, object, version).await?;
    let namespace = match attributes.target.namespace {
        "" => Value::Null,
        name => shown(versions.reader().stored_object("", "namespaces", "", name).unwrap_or_default()),
    };
    let judge = |params: &Value| {
        // As in kube-apiserver, conditions do not know the namespace.
        match policy.conditions.hold(&input(attributes, &case, params, &Value::Null)) {
            Ok(true) => broken(policy, &input(attributes, &case, params, &namespace)),
            Ok(false) => Vec::new(),
            Err(_) if policy.ignore => Vec::new(),
            Err(message) => vec![Violation { message, reason: String::new() }],
        }
    };
    Ok(params.iter().flat_map(judge).collect())
}

/// Returns the variables of expressions.
fn input<'a>(
    attributes: &'a Attributes<'_>,
    case: &'a Case,
    params: &'a Value,
    namespace: &'a Value,
) -> Input<'a> {
    let variables = vec![
        ("object", &case.object),
        ("oldObject", &case.old),
        ("request", &case.request),
        ("params", params),
        ("namespaceObject", namespace),
    ];
    Input::new(variables).authorizer(attributes)
}

/// Returns a Namespace without the fields that expressions do not see.
fn shown(mut namespace: Value) -> Value {
    if let Some(metadata) = namespace["metadata"].as_object_mut() {
        metadata
            .retain(|field, _| !matches!(field.as_str(), "managedFields" | "ownerReferences" | "selfLink"));
    }
    namespace
}

fn broken(policy: &Policy, input: &Input<'_>) -> Vec<Violation> {
    let compiled = policy.validations.iter().filter_map(|validation| validation.program.as_ref().ok());
    let mut answers = input.evaluate(&policy.variables, &compiled.collect::<Vec<_>>()).into_iter();
    let mut found = Vec::new();
    for validation in &policy.validations {
        let answer = match &validation.program {
            Ok(_) => answers
                .next()
                .unwrap_or(Ok(Answer::Other))
                .map_err(|why| format!("expression '{}' resulted in error: {why}", validation.source)),
            Err(why) => Err(format!("compilation error: {why}")),
        };
        match answer {
            Ok(Answer::Boolean(true)) => {}
            Err(_) if policy.ignore => {}
            // As in kube-apiserver, only a validation that is false has its own reason.
            Err(message) => found.push(Violation { message, reason: String::new() }),
            Ok(_) => {
                let message = message(policy, validation, input);
                found.push(Violation { message, reason: validation.reason.clone() });
            }
        }
    }
    found
}

/// Maximum size of a message that `messageExpression` returns, in bytes.
const MAX_MESSAGE: usize = 5 * 1024;

fn message(policy: &Policy, validation: &Validation, input: &Input<'_>) -> String {
    if let Some(program) = &validation.message_program
        && let Some(Ok(Answer::Text(text))) = input.evaluate(&policy.variables, &[program]).pop()
    {
        let text = text.trim();
        if !text.is_empty() && !text.contains('\n') && text.len() <= MAX_MESSAGE {
            return text.to_owned();
        }
    }
    if validation.message.is_empty() {
        format!("failed expression: {}", validation.source)
    } else {
        validation.message.clone()
    }
}

/// Returns the parameter objects with which each validation is evaluated. If the policy or the binding has no
/// parameters, this is a single null.
async fn params(
    versions: &Versions,
    policy: &Policy,
    binding: &Binding,
    attributes: &Attributes<'_>,
) -> Result<Vec<Value>, String> {
    let (Some((group, version, kind)), true) = (&policy.param_kind, binding.params.is_object()) else {
        return Ok(vec![Value::Null]);
    };
    let failed = |why: String| format!("failed to configure binding: {why}");
    let definitions = versions.definitions();
    let definition = definitions.by_kind(group, kind);
    let definition = definition
        .filter(|definition| definition.version(version).is_some_and(|version| version.served))
        .ok_or_else(|| failed(format!("paramKind kind `{group}/{version}, Kind={kind}` not known")))?;
    let reference = &binding.params;
    let given = reference["namespace"].as_str().unwrap_or_default();
    let namespace = match (definition.namespaced, given, attributes.target.namespace) {
        (false, "", _) => "",
        (false, ..) => {
            return Err(failed(
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`".to_owned(),
            ));
        }
        (true, "", "") => {
            return Err(failed(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                    .to_owned(),
            ));
        }
        (true, "", own) => own,
        (true, given, _) => given,
    };
    let found: Vec<Value> = match reference["name"].as_str().filter(|name| !name.is_empty()) {
        Some(name) => {
            versions.reader().stored_object(group, &definition.plural, namespace, name).into_iter().collect()
        }
        None => {
            let selector = LabelSelector::from_object(&reference["selector"]).map_err(failed)?;
            let mut all = versions.reader().stored_objects(group, &definition.plural, namespace);
            all.retain(|object| selector.matches(meta::labels(object)));
            all
        }
    };
    match (found.is_empty(), reference["parameterNotFoundAction"].as_str()) {
        (true, Some("Allow")) => Ok(Vec::new()),
        (true, _) => {
            Err(failed("no params found for policy binding with `Deny` parameterNotFoundAction".to_owned()))
        }
        (false, _) => {
            let Some(version) = definition.version(version) else { return Ok(found) };
            let mut shown = Vec::with_capacity(found.len());
            for object in found {
                let object = versions.in_version(definition, version, object).await;
                shown.push(object.map_err(|status| failed(status.message))?);
            }
            Ok(shown)
        }
    }
}
