//! Changes of a class, or from one class to another, that its Clusters survive: their objects keep their kinds.

use super::references::group;
use super::workers;
use crate::admission::common::Errors;
use crate::cluster::ClusterClass;
use crate::meta::TemplateReference;

/// Checks that Clusters of the class `old` can become Clusters of `new`. The paths of errors are those of `new`.
pub fn compatible(old: &ClusterClass, new: &ClusterClass, errors: &mut Errors) {
    let (old_spec, new_spec) = (&old.spec, &new.spec);
    let field = "spec.infrastructure.templateRef";
    same_kind(field, &old_spec.infrastructure.template_ref, &new_spec.infrastructure.template_ref, errors);
    let field = "spec.controlPlane.templateRef";
    same_kind(field, &old_spec.control_plane.template_ref, &new_spec.control_plane.template_ref, errors);
    // A control plane with machines stays one, so that absence is a kind of its own.
    let machines = |class: &ClusterClass| {
        let machines = class.spec.control_plane.machine_infrastructure.as_ref();
        machines.map(|machines| machines.template_ref.clone()).unwrap_or_default()
    };
    let field = "spec.controlPlane.machineInfrastructure.templateRef";
    same_kind(field, &machines(old), &machines(new), errors);
    // Bootstrap templates may be of another kind, since new machines do not depend on those of old ones.
    for (index, class) in workers::deployments(new).iter().enumerate() {
        let mut before = workers::deployments(old).iter().filter(|old| old.class == class.class);
        if let Some(before) = before.next() {
            let field = format!("spec.workers.machineDeployments[{index}].infrastructure.templateRef");
            same_kind(
                &field,
                &before.infrastructure.template_ref,
                &class.infrastructure.template_ref,
                errors,
            );
        }
    }
    for (index, class) in workers::pools(new).iter().enumerate() {
        let mut before = workers::pools(old).iter().filter(|old| old.class == class.class);
        if let Some(before) = before.next() {
            let field = format!("spec.workers.machinePools[{index}].infrastructure.templateRef");
            same_kind(
                &field,
                &before.infrastructure.template_ref,
                &class.infrastructure.template_ref,
                errors,
            );
        }
    }
}

fn same_kind(field: &str, old: &TemplateReference, new: &TemplateReference, errors: &mut Errors) {
    let (old_group, new_group) = (group(old), group(new));
    if old_group != new_group {
        errors.forbidden(
            format_args!("{field}.apiVersion"),
            format!("the group cannot change from {old_group:?} to {new_group:?}: Clusters keep the kinds of their objects"),
        );
    }
    if old.kind != new.kind {
        errors.forbidden(
            format_args!("{field}.kind"),
            format!(
                "cannot change from {:?} to {:?}: Clusters keep the kinds of their objects",
                old.kind, new.kind
            ),
        );
    }
}
