//! Admission rules of HostClaim and HostDeployPolicy: those of Metal3's webhook (baremetal-operator v0.14), that the pattern of a policy
//! compiles, and that each request for a reboot can be passed on to a host.

use machinery::{names, pattern};

use super::bare_metal_host::{image, own_namespace};
use super::common::{Errors, annotation};
use super::host_annotations;
use super::request::Request;
use crate::metal3::{HostClaim, HostClaimSelector, HostClaimSelectorRequirement, HostDeployPolicy};
use crate::reboot;

/// The operators of the selector, in lower case.
const OPERATORS: [&str; 10] = ["in", "=", "==", "notin", "!=", "exists", "!", "doesnotexist", "gt", "lt"];

pub fn host_claim(request: Request<'_>, claim: &HostClaim, errors: &mut Errors) {
    let spec = &claim.spec;
    let namespace = claim.metadata.namespace.as_deref().unwrap_or_default();
    let secrets =
        [("userData", &spec.user_data), ("networkData", &spec.network_data), ("metaData", &spec.meta_data)];
    for (field, secret) in secrets {
        own_namespace(&format!("spec.{field}.namespace"), secret.as_ref(), namespace, errors);
    }
    if let Some(selector) = &spec.host_selector {
        self::selector(selector, errors);
    }
    if let Some(image) = &spec.image {
        self::image(image, errors);
    }
    host_annotations::reboots(claim.metadata.annotations.as_ref(), errors);
    passed_reboots(request, claim, errors);
}

/// Refuses requests for reboots that the host cannot have. One that is stored already does not make a claim unchangeable: the controller
/// leaves it out.
fn passed_reboots(request: Request<'_>, claim: &HostClaim, errors: &mut Errors) {
    for key in claim.metadata.annotations.iter().flatten().map(|(key, _)| key) {
        let is_stored = request.old.is_some_and(|old| annotation(old, key).is_some());
        if let Some(Err(problem)) = reboot::on_host(key).filter(|_| !is_stored) {
            errors.forbidden(format!("metadata.annotations[{key}]"), problem);
        }
    }
}

fn selector(selector: &HostClaimSelector, errors: &mut Errors) {
    for (key, value) in &selector.match_labels {
        let field = format!("spec.hostSelector.matchLabels[{key}]");
        self::key(&field, key, errors);
        self::value(&field, value, errors);
    }
    for (index, requirement) in selector.match_expressions.iter().enumerate() {
        self::requirement(&format!("spec.hostSelector.matchExpressions[{index}]"), requirement, errors);
    }
}

fn requirement(field: &str, requirement: &HostClaimSelectorRequirement, errors: &mut Errors) {
    key(&format!("{field}.key"), &requirement.key, errors);
    let number = requirement.values.len();
    let values = format!("{field}.values");
    let operator = requirement.operator.to_lowercase();
    match operator.as_str() {
        "in" | "notin" if number == 0 => errors.required(values, "set at least one value"),
        "=" | "==" | "!=" | "gt" | "lt" if number != 1 => {
            errors.invalid(values, requirement.values.clone(), "must have exactly one value");
        }
        "exists" | "!" | "doesnotexist" if number != 0 => {
            errors.invalid(
                values,
                requirement.values.clone(),
                "must be empty: the operator looks only at the key",
            );
        }
        known if OPERATORS.contains(&known) => {
            for (index, value) in requirement.values.iter().enumerate() {
                self::value(&format!("{values}[{index}]"), value, errors);
            }
        }
        _ => errors.not_supported(format!("{field}.operator"), requirement.operator.as_str(), &OPERATORS),
    }
}

fn key(field: &str, key: &str, errors: &mut Errors) {
    for problem in names::qualified_name(key) {
        errors.invalid(field, key, problem);
    }
}

fn value(field: &str, value: &str, errors: &mut Errors) {
    for problem in names::label_value(value) {
        errors.invalid(field, value, problem);
    }
}

pub fn host_deploy_policy(_: Request<'_>, policy: &HostDeployPolicy, errors: &mut Errors) {
    let rule = policy.spec.host_claim_namespaces.as_ref();
    let pattern = rule.and_then(|rule| rule.name_matches.as_deref()).unwrap_or_default();
    if let Some(problem) = pattern::problem(pattern) {
        errors.invalid(
            "spec.hostClaimNamespaces.nameMatches",
            pattern,
            format!("must be a regular expression such as ^tenant-: {problem}"),
        );
    }
}
