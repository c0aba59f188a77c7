//! References to templates.

use crate::admission::common::Errors;
use crate::cluster::ClusterClass;
use crate::meta::TemplateReference;

pub fn references(class: &ClusterClass, errors: &mut Errors) {
    let spec = &class.spec;
    reference("spec.infrastructure.templateRef", &spec.infrastructure.template_ref, errors);
    reference("spec.controlPlane.templateRef", &spec.control_plane.template_ref, errors);
    if let Some(machines) = &spec.control_plane.machine_infrastructure {
        reference("spec.controlPlane.machineInfrastructure.templateRef", &machines.template_ref, errors);
    }
    let Some(workers) = &spec.workers else { return };
    for (index, class) in workers.machine_deployments.iter().enumerate() {
        let field = format!("spec.workers.machineDeployments[{index}]");
        reference(&format!("{field}.bootstrap.templateRef"), &class.bootstrap.template_ref, errors);
        reference(&format!("{field}.infrastructure.templateRef"), &class.infrastructure.template_ref, errors);
    }
    for (index, class) in workers.machine_pools.iter().enumerate() {
        let field = format!("spec.workers.machinePools[{index}]");
        reference(&format!("{field}.bootstrap.templateRef"), &class.bootstrap.template_ref, errors);
        reference(&format!("{field}.infrastructure.templateRef"), &class.infrastructure.template_ref, errors);
    }
}

fn reference(field: &str, reference: &TemplateReference, errors: &mut Errors) {
    if reference.name.is_empty() {
        errors.required(format_args!("{field}.name"), "must be set");
    }
    if reference.kind.strip_suffix("Template").is_none_or(str::is_empty) {
        errors.invalid(
            format_args!("{field}.kind"),
            reference.kind.as_str(),
            "must be a kind of templates, whose name ends with Template",
        );
    }
    let field = format!("{field}.apiVersion");
    let version = reference.api_version.as_str();
    if version.is_empty() || version == "/" {
        errors.required(field, "must be set");
    } else if version.matches('/').count() > 1 {
        errors.invalid(field, version, "must have the form GROUP/VERSION");
    }
}

/// Returns the group of an API version; empty for the core group.
pub fn group(reference: &TemplateReference) -> &str {
    reference.api_version.split_once('/').map_or("", |(group, _)| group)
}
