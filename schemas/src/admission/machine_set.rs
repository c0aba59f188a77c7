//! Admission rules of MachineSet, MachineDeployment and MachinePool.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use machinery::selector;
use serde_json::{Map, Value};

use super::common::{self, Errors, annotation};
use super::features;
use super::machine::{self, TaintsOf};
use super::request::Request;
use crate::cluster::{MachineDeployment, MachinePool, MachineSet, MachineTemplateSpec};
use crate::names::CLUSTER_NAME;

const SKIP_PREFLIGHT_CHECKS: &str = "machineset.cluster.x-k8s.io/skip-preflight-checks";
const PREFLIGHT_CHECKS: [&str; 5] =
    ["All", "KubeadmVersionSkew", "KubernetesVersionSkew", "ControlPlaneIsStable", "ControlPlaneVersionSkew"];

pub fn machine_set(request: Request<'_>, set: &MachineSet, errors: &mut Errors) {
    let spec = &set.spec;
    selector("spec.selector", &spec.selector, &spec.template, errors);
    common::immutable(request.old, request.new, &["spec", "clusterName"], errors);
    machine_template(request, &spec.cluster_name, &spec.template, errors);
    preflight_checks(request, errors);
    machine::machine_naming("machineSet", spec.machine_naming.as_ref(), errors);
}

pub fn machine_deployment(request: Request<'_>, deployment: &MachineDeployment, errors: &mut Errors) {
    let spec = &deployment.spec;
    common::name_as_label(deployment.metadata.name.as_deref(), errors);
    selector("spec.selector", &spec.selector, &spec.template, errors);
    common::immutable(request.old, request.new, &["spec", "clusterName"], errors);
    let strategy = spec.rollout.as_ref().and_then(|rollout| rollout.strategy.as_ref());
    let limits = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
    common::rolling_update("spec.rollout.strategy.rollingUpdate", limits, errors);
    let in_flight = spec.remediation.as_ref().and_then(|remediation| remediation.max_in_flight.as_ref());
    common::number_or_percentage("spec.remediation.maxInFlight", in_flight, errors);
    machine_template(request, &spec.cluster_name, &spec.template, errors);
    preflight_checks(request, errors);
    machine::machine_naming("machineSet", spec.machine_naming.as_ref(), errors);
}

pub fn machine_pool(request: Request<'_>, pool: &MachinePool, errors: &mut Errors) {
    let spec = &pool.spec;
    if !request.features.machine_pool {
        errors.forbidden("spec", features::off("MachinePool"));
    }
    common::immutable(request.old, request.new, &["spec", "clusterName"], errors);
    const TEMPLATE: &str = "spec.template";
    machine::template_spec(&format!("{TEMPLATE}.spec"), &spec.cluster_name, &spec.template.spec, errors);
    common::template_metadata(&format!("{TEMPLATE}.metadata"), spec.template.metadata.as_ref(), errors);
    if !spec.template.spec.taints.is_empty() {
        errors.forbidden("spec.template.spec.taints", "taints are not supported for MachinePools");
    }
}

fn machine_template(
    request: Request<'_>,
    cluster_name: &str,
    template: &MachineTemplateSpec,
    errors: &mut Errors,
) {
    const FIELD: &str = "spec.template";
    common::template_metadata(&format!("{FIELD}.metadata"), template.metadata.as_ref(), errors);
    machine::template_spec(&format!("{FIELD}.spec"), cluster_name, &template.spec, errors);
    let taints = &template.spec.taints;
    machine::taints(&format!("{FIELD}.spec.taints"), taints, TaintsOf::Workers, request.features, errors);
}

/// Checks that the selector is valid and selects the Machines of the template.
fn selector(field: &str, selector: &LabelSelector, template: &MachineTemplateSpec, errors: &mut Errors) {
    if !common::label_selector(field, selector, errors) {
        return;
    }
    let labels = template.metadata.iter().flat_map(|metadata| &metadata.labels);
    let labels: Map<String, Value> =
        labels.map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect();
    let value = serde_json::to_value(selector).unwrap_or_default();
    if let Ok(parsed) = selector::LabelSelector::from_object(&value)
        && !parsed.matches(Some(&labels))
    {
        errors.invalid(
            "spec.template.metadata.labels",
            labels,
            format!("must match {field}, or the machines would not be found again"),
        );
    }
}

fn preflight_checks(request: Request<'_>, errors: &mut Errors) {
    if !request.features.machine_set_preflight_checks {
        return;
    }
    let Some(list) = annotation(request.new, SKIP_PREFLIGHT_CHECKS).filter(|list| !list.is_empty()) else {
        return;
    };
    for check in list.split(',').map(str::trim) {
        if !PREFLIGHT_CHECKS.contains(&check) {
            errors.not_supported(
                format_args!("metadata.annotations[{SKIP_PREFLIGHT_CHECKS}]"),
                check,
                &PREFLIGHT_CHECKS,
            );
        }
    }
}

/// Checks that a selector's cluster-name label, if present, names this Cluster.
pub fn selected_cluster(field: &str, selector: &LabelSelector, cluster_name: &str, errors: &mut Errors) {
    let label = selector.match_labels.as_ref().and_then(|labels| labels.get(CLUSTER_NAME));
    if let Some(label) = label.filter(|label| *label != cluster_name) {
        errors.invalid(
            format_args!("{field}.matchLabels.{CLUSTER_NAME}"),
            label.as_str(),
            "must be the same as spec.clusterName",
        );
    }
}
