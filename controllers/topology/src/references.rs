//! The references of a ClusterClass to templates.

use schemas::cluster::ClusterClass;
use schemas::meta::TemplateReference;

/// Returns the references of `class` to templates, each template once, in the order of the class.
pub fn template_references(class: &ClusterClass) -> Vec<&TemplateReference> {
    let spec = &class.spec;
    let mut all = vec![&spec.infrastructure.template_ref, &spec.control_plane.template_ref];
    all.extend(spec.control_plane.machine_infrastructure.as_ref().map(|machines| &machines.template_ref));
    if let Some(workers) = &spec.workers {
        for class in &workers.machine_deployments {
            all.extend([&class.bootstrap.template_ref, &class.infrastructure.template_ref]);
        }
        for class in &workers.machine_pools {
            all.extend([&class.bootstrap.template_ref, &class.infrastructure.template_ref]);
        }
    }
    let mut unique: Vec<&TemplateReference> = Vec::new();
    for reference in all {
        if !reference.name.is_empty() && !unique.contains(&reference) {
            unique.push(reference);
        }
    }
    unique
}

/// Returns the key by which the objects that refer to a template are indexed. It contains the version, since a class reads templates in
/// the version that it names.
pub fn template_key(namespace: &str, api_version: &str, kind: &str, name: &str) -> String {
    format!("{api_version}/{kind}/{namespace}/{name}")
}
