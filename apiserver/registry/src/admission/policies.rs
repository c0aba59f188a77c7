//! Evaluation of ValidatingAdmissionPolicies.

use cel::program::{Answer, Input};
use machinery::status::Status;
use serde_json::Value;

use super::attributes::Attributes;
use super::basis::Binding;
use super::case::{Case, Cases};
use super::params::{self, Allowance};
use super::policy::{Policy, Validation};
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
    let (mut refusal, mut cases) = (None, Cases::default());
    let namespace = attributes.namespace_of(object);
    for policy in policies {
        // An error of the configuration is refused whatever the actions of the binding are.
        let misconfigured = |refusal: &mut Option<Status>, binding, message| {
            if !policy.basis.ignore {
                let violation = Violation { message, reason: String::new() };
                refusal.get_or_insert_with(|| refuse(attributes, object, policy, binding, &violation));
            }
        };
        let (version, kind) = match params::matched(versions, &policy.basis, attributes, object) {
            Ok(Some(found)) => found,
            Ok(None) => continue,
            Err(why) => {
                misconfigured(&mut refusal, None, why);
                continue;
            }
        };
        for binding in &policy.basis.bindings {
            match params::binds(versions, binding, attributes, object) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(why) => {
                    misconfigured(&mut refusal, Some(binding), why);
                    continue;
                }
            }
            let (basis, kind, mut allowance) = (&policy.basis, kind.as_deref(), Allowance::default());
            let bound = params::bound(versions, basis, kind, binding, namespace, &mut allowance).await;
            let params = match bound {
                Ok(params) if params.is_empty() => continue,
                Ok(params) => params,
                Err(why) => {
                    misconfigured(&mut refusal, Some(binding), why);
                    continue;
                }
            };
            let case = match cases.of(versions, attributes, object, &version).await {
                Ok(case) => case,
                Err(status) => {
                    let why = format!("failed to convert object version: {}", status.message);
                    misconfigured(&mut refusal, Some(binding), params::unbound(&why));
                    continue;
                }
            };
            for violation in violations(versions, policy, &params, attributes, case) {
                if binding.warn {
                    warnings.push(format!(
                        "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                        policy.basis.name, binding.name, violation.message
                    ));
                }
                if binding.deny && refusal.is_none() {
                    refusal = Some(refuse(attributes, object, policy, Some(binding), &violation));
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
    binding: Option<&Binding>,
    violation: &Violation,
) -> Status {
    let bound = binding.map_or(String::new(), |binding| format!(" with binding '{}'", binding.name));
    let message = format!(
        "ValidatingAdmissionPolicy '{}'{bound} denied request: {}",
        policy.basis.name, violation.message
    );
    let mut status = attributes.denied(object, &[message]);
    (status.code, status.reason) = match violation.reason.as_str() {
        "Forbidden" => (403, "Forbidden"),
        "Unauthorized" => (401, "Unauthorized"),
        "RequestEntityTooLarge" => (413, "RequestEntityTooLarge"),
        _ => (422, "Invalid"),
    };
    status
}

fn violations(
    versions: &Versions,
    policy: &Policy,
    params: &[Value],
    attributes: &Attributes<'_>,
    case: &Case,
) -> Vec<Violation> {
    let namespace = attributes.namespace_object(versions).unwrap_or_default();
    let judge = |params: &Value| {
        // As in kube-apiserver, conditions do not know the namespace.
        match policy.basis.conditions.hold(&case.input(attributes, params, &Value::Null)) {
            Ok(true) => broken(policy, &case.input(attributes, params, &namespace)),
            Ok(false) => Vec::new(),
            Err(_) if policy.basis.ignore => Vec::new(),
            Err(message) => vec![Violation { message, reason: String::new() }],
        }
    };
    params.iter().flat_map(judge).collect()
}

fn broken(policy: &Policy, input: &Input<'_>) -> Vec<Violation> {
    let compiled = policy.validations.iter().filter_map(|validation| validation.program.as_ref().ok());
    let mut answers = input.evaluate(&policy.basis.variables, &compiled.collect::<Vec<_>>()).into_iter();
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
            Err(_) if policy.basis.ignore => {}
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
        && let Some(Ok(Answer::Text(text))) = input.evaluate(&policy.basis.variables, &[program]).pop()
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
