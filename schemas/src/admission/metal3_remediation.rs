//! Admission rules of Metal3Remediation and Metal3RemediationTemplate: those of the webhooks of Metal3's
//! provider (cluster-api-provider-metal3 v1.13).

use super::common::Errors;
use super::request::Request;
use crate::defaults::{REMEDIATION_RETRY_LIMIT, REMEDIATION_STRATEGY};
use crate::infrastructure::{Metal3Remediation, Metal3RemediationTemplate, RemediationStrategy};

/// Smallest `timeoutSeconds`: a host needs this long to start.
const MIN_TIMEOUT_SECONDS: i32 = 100;

pub fn metal3_remediation(_: Request<'_>, remediation: &Metal3Remediation, errors: &mut Errors) {
    strategy("spec", remediation.spec.strategy.as_ref(), errors);
}

pub fn metal3_remediation_template(
    _: Request<'_>,
    template: &Metal3RemediationTemplate,
    errors: &mut Errors,
) {
    strategy("spec.template.spec", template.spec.template.spec.strategy.as_ref(), errors);
}

fn strategy(path: &str, strategy: Option<&RemediationStrategy>, errors: &mut Errors) {
    let strategy = strategy.cloned().unwrap_or_default();
    if let Some(seconds) = strategy.timeout_seconds.filter(|seconds| *seconds < MIN_TIMEOUT_SECONDS) {
        errors.invalid(
            format_args!("{path}.strategy.timeoutSeconds"),
            seconds,
            format!("must be {MIN_TIMEOUT_SECONDS} or more: a host needs this long to start"),
        );
    }
    let type_ = strategy.type_.as_deref().unwrap_or_default();
    if type_.is_empty() {
        errors.required(
            format_args!("{path}.strategy.type"),
            format!("the only one is {REMEDIATION_STRATEGY}"),
        );
    } else if type_ != REMEDIATION_STRATEGY {
        errors.not_supported(format_args!("{path}.strategy.type"), type_, &[REMEDIATION_STRATEGY]);
    }
    let limit = strategy.retry_limit.unwrap_or(REMEDIATION_RETRY_LIMIT);
    if limit < REMEDIATION_RETRY_LIMIT {
        errors.invalid(
            format_args!("{path}.strategy.retryLimit"),
            limit,
            format!("must be {REMEDIATION_RETRY_LIMIT} or more"),
        );
    }
}
