//! Selectors of patches: each must select a template of the class, or it has a mistake.

use std::collections::BTreeSet;

use machinery::names;

use super::workers;
use crate::admission::common::Errors;
use crate::cluster::{ClusterClass, PatchSelector, PatchSelectorMatchClass};
use crate::meta::TemplateReference;

pub fn selector(selector: &PatchSelector, class: &ClusterClass, field: &str, errors: &mut Errors) {
    let targets = &selector.match_resources;
    let field = format!("{field}.matchResources");
    let names = |class: &Option<PatchSelectorMatchClass>| -> Vec<String> {
        class.as_ref().map(|class| class.names.clone()).unwrap_or_default()
    };
    let (deployments, pools) = (names(&targets.machine_deployment_class), names(&targets.machine_pool_class));
    let infrastructure = targets.infrastructure_cluster == Some(true);
    let control_plane = targets.control_plane == Some(true);
    if !infrastructure && !control_plane && deployments.is_empty() && pools.is_empty() {
        return errors.required(field, "must select something");
    }
    if infrastructure && !selects(selector, &class.spec.infrastructure.template_ref) {
        errors.invalid(
            format_args!("{field}.infrastructureCluster"),
            true,
            "the template of the infrastructure has another apiVersion or kind",
        );
    }
    let machines = class.spec.control_plane.machine_infrastructure.as_ref();
    if control_plane
        && !selects(selector, &class.spec.control_plane.template_ref)
        && !machines.is_some_and(|machines| selects(selector, &machines.template_ref))
    {
        errors.invalid(
            format_args!("{field}.controlPlane"),
            true,
            "the templates of the control plane and of its machines have another apiVersion or kind",
        );
    }
    let selected =
        |bootstrap, infrastructure| selects(selector, bootstrap) || selects(selector, infrastructure);
    let of_deployments = workers::deployments(class).iter();
    let of_deployments = of_deployments
        .filter(|class| selected(&class.bootstrap.template_ref, &class.infrastructure.template_ref))
        .map(|class| class.class.as_str())
        .collect();
    classes(
        "MachineDeployment",
        &deployments,
        &of_deployments,
        &format!("{field}.machineDeploymentClass"),
        errors,
    );
    let of_pools = workers::pools(class).iter();
    let of_pools = of_pools
        .filter(|class| selected(&class.bootstrap.template_ref, &class.infrastructure.template_ref))
        .map(|class| class.class.as_str())
        .collect();
    classes("MachinePool", &pools, &of_pools, &format!("{field}.machinePoolClass"), errors);
}

fn selects(selector: &PatchSelector, reference: &TemplateReference) -> bool {
    selector.kind == reference.kind && selector.api_version == reference.api_version
}

/// Checks the names of worker classes. `with_template` are the classes with a template of the selector's kind.
fn classes(kind: &str, names: &[String], with_template: &BTreeSet<&str>, field: &str, errors: &mut Errors) {
    for (index, name) in names.iter().enumerate() {
        let field = format!("{field}.names[{index}]");
        if let Some(problem) = pattern_problem(name) {
            errors.invalid(field, name.as_str(), problem);
        } else if !matches_any(name, with_template) {
            let detail =
                format!("selects no {kind} class with a template of the apiVersion and kind of the selector");
            errors.invalid(field, name.as_str(), detail);
        }
    }
}

fn pattern_problem(name: &str) -> Option<&'static str> {
    let stars = name.matches('*').count();
    if stars > 1 {
        return Some("can have one * only");
    }
    if stars == 1 && !name.starts_with('*') && !name.ends_with('*') {
        return Some("can have a * only at its beginning or its end");
    }
    if stars == 1 && !names::qualified_name(&name.replace('*', "a")).is_empty() {
        return Some("must be the name of a class, with or without one *");
    }
    None
}

fn matches_any(name: &str, classes: &BTreeSet<&str>) -> bool {
    if let Some(end) = name.strip_prefix('*') {
        return classes.iter().any(|class| class.ends_with(end));
    }
    match name.strip_suffix('*') {
        Some(start) => classes.iter().any(|class| class.starts_with(start)),
        None => classes.contains(name),
    }
}
