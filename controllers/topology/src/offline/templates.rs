//! The templates of a class, from manifests.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemas::admission;
use schemas::cluster::ClusterClass;
use schemas::meta::TemplateReference;
use serde_json::Value;

use super::{Kinds, OfflineError, admitted, namespace_of};
use crate::blueprint::{Blueprint, Template, WorkerTemplates};
use crate::object;

/// Reads the templates of a class, each in the version that the class names.
pub(super) fn blueprint(
    manifests: &[Value],
    class: ClusterClass,
    kinds: &dyn Kinds,
) -> Result<Blueprint, OfflineError> {
    let namespace = class.metadata.namespace.clone().unwrap_or_default();
    let read = |reference: &TemplateReference, field: &str| {
        let group = reference.api_version.split_once('/').map_or("", |(group, _)| group);
        let is_meant = |object: &&Value| {
            object::kind(object) == reference.kind
                && object::group(object) == group
                && object::name(object) == reference.name
                && namespace_of(object) == namespace
        };
        let found = manifests.iter().find(is_meant).ok_or_else(|| OfflineError::Missing {
            referrer: format!("{field} of the ClusterClass"),
            kind: reference.kind.clone(),
            namespace: namespace.clone(),
            name: reference.name.clone(),
        })?;
        // The defaults of a template stay out, as those of its schema are not known here either.
        admitted(found, &admission::Facts::of_empty_server())?;
        match kinds.in_version(found, &reference.api_version) {
            Ok(object) => Ok::<_, OfflineError>(Template { object }),
            Err(_) if !is_patched(&class, reference) => Ok(Template { object: found.clone() }),
            Err(message) => Err(OfflineError::Version {
                field: field.to_owned(),
                wanted: reference.api_version.clone(),
                object: object::described(found),
                message,
            }),
        }
    };
    let plane = &class.spec.control_plane;
    let machines = plane.machine_infrastructure.as_ref();
    let workers = |kind: &str, class: &str, bootstrap, infrastructure| {
        let field = |part: &str| format!("spec.workers.{kind}[{class}].{part}.templateRef");
        Ok::<_, OfflineError>(WorkerTemplates {
            bootstrap: read(bootstrap, &field("bootstrap"))?,
            infrastructure: read(infrastructure, &field("infrastructure"))?,
        })
    };
    let mut machine_deployments = BTreeMap::new();
    let mut machine_pools = BTreeMap::new();
    for entry in class.spec.workers.iter().flat_map(|workers| &workers.machine_deployments) {
        let (bootstrap, infrastructure) = (&entry.bootstrap.template_ref, &entry.infrastructure.template_ref);
        let templates = workers("machineDeployments", &entry.class, bootstrap, infrastructure)?;
        machine_deployments.insert(entry.class.clone(), templates);
    }
    for entry in class.spec.workers.iter().flat_map(|workers| &workers.machine_pools) {
        let (bootstrap, infrastructure) = (&entry.bootstrap.template_ref, &entry.infrastructure.template_ref);
        let templates = workers("machinePools", &entry.class, bootstrap, infrastructure)?;
        machine_pools.insert(entry.class.clone(), templates);
    }
    Ok(Blueprint {
        infrastructure: read(&class.spec.infrastructure.template_ref, "spec.infrastructure.templateRef")?,
        control_plane: read(&plane.template_ref, "spec.controlPlane.templateRef")?,
        control_plane_machines: machines
            .map(|machines| {
                read(&machines.template_ref, "spec.controlPlane.machineInfrastructure.templateRef")
            })
            .transpose()?,
        machine_deployments,
        machine_pools,
        class: Arc::new(class),
    })
}

/// Returns whether a patch of the class is for templates of this version and kind, and so would find none in another version.
fn is_patched(class: &ClusterClass, reference: &TemplateReference) -> bool {
    class.spec.patches.iter().flat_map(|patch| &patch.definitions).any(|definition| {
        definition.selector.api_version == reference.api_version && definition.selector.kind == reference.kind
    })
}
