//! The templates of a class.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::{Error, NamespacedName, Result};
use schemas::cluster::{ClassTemplate, ClusterClass};
use schemas::meta::TemplateReference;

use super::Provided;
use crate::{Blueprint, Template, WorkerTemplates};

/// Reads the templates of `class`, each in the version that the class names.
///
/// # Errors
/// A template does not exist or cannot be read.
pub async fn blueprint(provided: &Provided, class: Arc<ClusterClass>) -> Result<Blueprint> {
    let spec = &class.spec;
    let machines = match &spec.control_plane.machine_infrastructure {
        Some(machines) => Some(
            template(provided, &class, "spec.controlPlane.machineInfrastructure", &machines.template_ref)
                .await?,
        ),
        None => None,
    };
    let (mut machine_deployments, mut machine_pools) = (BTreeMap::new(), BTreeMap::new());
    if let Some(workers) = &spec.workers {
        for (index, worker) in workers.machine_deployments.iter().enumerate() {
            let field = format!("spec.workers.machineDeployments[{index}]");
            let templates =
                worker_templates(provided, &class, &field, &worker.bootstrap, &worker.infrastructure).await?;
            machine_deployments.insert(worker.class.clone(), templates);
        }
        for (index, worker) in workers.machine_pools.iter().enumerate() {
            let field = format!("spec.workers.machinePools[{index}]");
            let templates =
                worker_templates(provided, &class, &field, &worker.bootstrap, &worker.infrastructure).await?;
            machine_pools.insert(worker.class.clone(), templates);
        }
    }
    Ok(Blueprint {
        infrastructure: template(provided, &class, "spec.infrastructure", &spec.infrastructure.template_ref)
            .await?,
        control_plane: template(provided, &class, "spec.controlPlane", &spec.control_plane.template_ref)
            .await?,
        control_plane_machines: machines,
        machine_deployments,
        machine_pools,
        class: class.clone(),
    })
}

async fn worker_templates(
    provided: &Provided,
    class: &ClusterClass,
    field: &str,
    bootstrap: &ClassTemplate,
    infrastructure: &ClassTemplate,
) -> Result<WorkerTemplates> {
    let (bootstrap, infrastructure) = (&bootstrap.template_ref, &infrastructure.template_ref);
    Ok(WorkerTemplates {
        bootstrap: template(provided, class, &format!("{field}.bootstrap"), bootstrap).await?,
        infrastructure: template(provided, class, &format!("{field}.infrastructure"), infrastructure).await?,
    })
}

async fn template(
    provided: &Provided,
    class: &ClusterClass,
    field: &str,
    reference: &TemplateReference,
) -> Result<Template> {
    let name = NamespacedName::of(class);
    let key = NamespacedName::new(name.namespace.as_str(), reference.name.as_str());
    let object = provided.template(reference, &key).await;
    let object = object
        .map_err(|error| Error::failed(format!("{field}.templateRef of ClusterClass {name}: {error}")))?;
    Ok(Template { object })
}
