//! Admission rules of MachineSet, and those that it shares with MachineDeployment.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use machinery::selector;
use serde_json::{Map, Value};

use super::common::{self, Errors, annotation};
use super::machine::{self, TaintsOf};
use super::request::Request;
use crate::cluster::{MachineSet, MachineTemplateSpec};

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

/// Checks the template of the Machines.
pub fn machine_template(
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
pub fn selector(field: &str, selector: &LabelSelector, template: &MachineTemplateSpec, errors: &mut Errors) {
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

/// Checks that the preflight checks that an annotation skips exist.
pub fn preflight_checks(request: Request<'_>, errors: &mut Errors) {
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
