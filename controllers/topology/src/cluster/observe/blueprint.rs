//! The templates of a class.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::{Error, NamespacedName, Result};
use schemas::cluster::{ClassTemplate, ClusterClass};
use schemas::meta::TemplateReference;
use serde_json::Value;

use super::TopologyController;
use crate::{Blueprint, Template, WorkerTemplates};

impl TopologyController {
    /// Reads the templates of `class`, each in the version that the class names.
    ///
    /// # Errors
    /// A template does not exist or cannot be read.
    pub(in crate::cluster) async fn blueprint(&self, class: Arc<ClusterClass>) -> Result<Blueprint> {
        let spec = &class.spec;
        let machines = match &spec.control_plane.machine_infrastructure {
            Some(machines) => Some(
                self.template(&class, "spec.controlPlane.machineInfrastructure", &machines.template_ref)
                    .await?,
            ),
            None => None,
        };
        let (mut machine_deployments, mut machine_pools) = (BTreeMap::new(), BTreeMap::new());
        if let Some(workers) = &spec.workers {
            for (index, worker) in workers.machine_deployments.iter().enumerate() {
                let field = format!("spec.workers.machineDeployments[{index}]");
                let templates =
                    self.workers(&class, &field, &worker.bootstrap, &worker.infrastructure).await?;
                machine_deployments.insert(worker.class.clone(), templates);
            }
            for (index, worker) in workers.machine_pools.iter().enumerate() {
                let field = format!("spec.workers.machinePools[{index}]");
                let templates =
                    self.workers(&class, &field, &worker.bootstrap, &worker.infrastructure).await?;
                machine_pools.insert(worker.class.clone(), templates);
            }
        }
        Ok(Blueprint {
            infrastructure: self
                .template(&class, "spec.infrastructure", &spec.infrastructure.template_ref)
                .await?,
            control_plane: self
                .template(&class, "spec.controlPlane", &spec.control_plane.template_ref)
                .await?,
            control_plane_machines: machines,
            machine_deployments,
            machine_pools,
            class: class.clone(),
        })
    }

    async fn workers(
        &self,
        class: &ClusterClass,
        field: &str,
        bootstrap: &ClassTemplate,
        infrastructure: &ClassTemplate,
    ) -> Result<WorkerTemplates> {
        let (bootstrap, infrastructure) = (&bootstrap.template_ref, &infrastructure.template_ref);
        Ok(WorkerTemplates {
            bootstrap: self.template(class, &format!("{field}.bootstrap"), bootstrap).await?,
            infrastructure: self.template(class, &format!("{field}.infrastructure"), infrastructure).await?,
        })
    }

    async fn template(
        &self,
        class: &ClusterClass,
        field: &str,
        reference: &TemplateReference,
    ) -> Result<Template> {
        let name = NamespacedName::of(class);
        let key = NamespacedName::new(name.namespace.as_str(), reference.name.as_str());
        let object = self.provider_template(reference, &key).await;
        let object = object
            .map_err(|error| Error::failed(format!("{field}.templateRef of ClusterClass {name}: {error}")))?;
        Ok(Template { object })
    }

    /// Reads a template of a provider. Others are refused: this controller would make objects of any kind for whoever may write a class, such as
    /// Pods from a PodTemplate.
    async fn provider_template(&self, reference: &TemplateReference, key: &NamespacedName) -> Result<Value> {
        let group = reference.api_version.split_once('/').map_or("", |(group, _)| group);
        self.manager.contracts().resolve(group, &reference.kind).await.map_err(|error| {
            Error::failed(format!(
                "{} ({}) is no template of a provider: {error}",
                reference.kind, reference.api_version
            ))
        })?;
        self.object(&reference.api_version, &reference.kind, key).await
    }
}
