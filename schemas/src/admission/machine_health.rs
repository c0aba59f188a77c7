//! Admission rules of MachineHealthCheck and MachineDrainRule.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::common::{self, Errors};
use super::request::Request;
use crate::cluster::{HealthCheckRemediationTriggerIf, HealthChecks, MachineDrainRule, MachineHealthCheck};
use crate::names::CLUSTER_NAME;

/// The shortest time-out in seconds for the start of a Node; 0 disables the check.
const NODE_STARTUP_TIMEOUT_MIN: i32 = 30;

pub fn machine_health_check(request: Request<'_>, check: &MachineHealthCheck, errors: &mut Errors) {
    let spec = &check.spec;
    if common::label_selector("spec.selector", &spec.selector, errors) && common::selects_all(&spec.selector)
    {
        errors.required("spec.selector", "must not be empty: it would select every Machine");
    }
    selected_cluster("spec.selector", &spec.selector, &spec.cluster_name, errors);
    common::immutable(request.old, request.new, &["spec", "clusterName"], errors);
    let trigger = spec.remediation.as_ref().and_then(|remediation| remediation.trigger_if.as_ref());
    health_check("spec", spec.checks.as_ref(), trigger, errors);
}

/// Checks the parts that all health checks have. `field` is the path of the checks and the remediation.
pub fn health_check(
    field: &str,
    checks: Option<&HealthChecks>,
    trigger: Option<&HealthCheckRemediationTriggerIf>,
    errors: &mut Errors,
) {
    let timeout = checks.and_then(|checks| checks.node_startup_timeout_seconds);
    if let Some(timeout) = timeout.filter(|timeout| *timeout != 0 && *timeout < NODE_STARTUP_TIMEOUT_MIN) {
        errors.invalid(
            format_args!("{field}.checks.nodeStartupTimeoutSeconds"),
            timeout,
            format!("must be 0, which means never, or at least {NODE_STARTUP_TIMEOUT_MIN}"),
        );
    }
    if let Some(trigger) = trigger {
        common::number_or_percentage(
            &format!("{field}.remediation.triggerIf.unhealthyLessThanOrEqualTo"),
            trigger.unhealthy_less_than_or_equal_to.as_ref(),
            errors,
        );
    }
}

pub fn machine_drain_rule(_request: Request<'_>, rule: &MachineDrainRule, errors: &mut Errors) {
    let drain = &rule.spec.drain;
    if drain.behavior != "Drain" && drain.order.is_some() {
        errors.invalid(
            "spec.drain.order",
            drain.order.unwrap_or_default(),
            "must not be set unless spec.drain.behavior is Drain",
        );
    }
    for (index, machines) in rule.spec.machines.iter().enumerate() {
        let field = format!("spec.machines[{index}]");
        optional_selector(&format!("{field}.selector"), machines.selector.as_ref(), errors);
        optional_selector(&format!("{field}.clusterSelector"), machines.cluster_selector.as_ref(), errors);
    }
    for (index, pods) in rule.spec.pods.iter().enumerate() {
        let field = format!("spec.pods[{index}]");
        optional_selector(&format!("{field}.selector"), pods.selector.as_ref(), errors);
        optional_selector(&format!("{field}.namespaceSelector"), pods.namespace_selector.as_ref(), errors);
    }
}

fn optional_selector(field: &str, selector: Option<&LabelSelector>, errors: &mut Errors) {
    if let Some(selector) = selector {
        common::label_selector(field, selector, errors);
    }
}

/// Checks that a selector's cluster-name label, if present, names this Cluster.
fn selected_cluster(field: &str, selector: &LabelSelector, cluster_name: &str, errors: &mut Errors) {
    let label = selector.match_labels.as_ref().and_then(|labels| labels.get(CLUSTER_NAME));
    if let Some(label) = label.filter(|label| *label != cluster_name) {
        errors.invalid(
            format_args!("{field}.matchLabels.{CLUSTER_NAME}"),
            label.as_str(),
            "must be the same as spec.clusterName",
        );
    }
}
