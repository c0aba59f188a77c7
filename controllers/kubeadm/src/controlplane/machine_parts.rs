//! The Machines of control planes, with their KubeadmConfigs and infrastructure objects.

use std::sync::Arc;

use engine::events::Recorder;
use engine::external::{Clone, clone_template};
use engine::{Applied, External, ExternalObject, Manager, NamespacedName, Objects, object};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::DynamicObject;
use kube::core::ApiResource;
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::Machine;
use schemas::controlplane::KubeadmControlPlane;

use super::desired;
use super::observed::{ControlPlaneMachine, Observed};
use crate::error::Result;

/// The infrastructure object of a Machine, and the handle for its kind.
pub(super) type Infrastructure = (Objects<DynamicObject>, Arc<DynamicObject>);

/// The handles on Machines and what belongs to them.
pub(super) struct MachineParts {
    pub manager: Manager,
    pub machines: Objects<Machine>,
    pub configs: Objects<KubeadmConfig>,
    pub external: External,
    /// The configurations last applied to the Machines and their objects, to save requests that would change nothing.
    pub applied: Applied,
    pub recorder: Recorder,
}

impl MachineParts {
    /// Reads provider objects by `external`.
    pub fn new(manager: &Manager, external: External, recorder: &Recorder) -> Self {
        Self {
            manager: manager.clone(),
            machines: manager.objects(),
            configs: manager.objects(),
            external,
            applied: Applied::default(),
            recorder: recorder.clone(),
        }
    }

    /// Returns the latest state of a Machine.
    pub fn latest(&self, member: &ControlPlaneMachine) -> Option<Arc<Machine>> {
        self.machines.get(&NamespacedName::of(member.machine.as_ref()))
    }

    /// Returns the synced handle on the infrastructure of the Machines.
    pub async fn infrastructure(
        &self,
        control_plane: &KubeadmControlPlane,
    ) -> Result<Objects<DynamicObject>> {
        let group = &control_plane.spec.machine_template.spec.infrastructure_ref.api_group;
        Ok(self.external.objects(group, desired::infrastructure_kind(control_plane)).await?.0)
    }

    /// Returns the infrastructure template, or `None` if it does not exist.
    pub async fn template(&self, control_plane: &KubeadmControlPlane) -> Result<Option<ExternalObject>> {
        let reference = &control_plane.spec.machine_template.spec.infrastructure_ref;
        let namespace = control_plane.metadata.namespace.as_deref().unwrap_or_default();
        Ok(self.external.get(namespace, reference).await?)
    }

    /// Returns an infrastructure object of this name as the template wants it, and its kind; `None` without a template.
    pub async fn clone_infrastructure(
        &self,
        observed: &Observed,
        name: &str,
        owner: Option<OwnerReference>,
    ) -> Result<Option<(DynamicObject, ApiResource)>> {
        let control_plane = observed.control_plane.as_ref();
        let Some(template) = self.template(control_plane).await? else { return Ok(None) };
        let clone = Clone {
            name: name.to_owned(),
            namespace: control_plane.metadata.namespace.clone().unwrap_or_default(),
            labels: desired::all_labels(control_plane, observed.cluster_name()),
            annotations: desired::template_metadata(control_plane).annotations,
            owner,
        };
        Ok(Some(clone_template(&template, clone)?))
    }

    /// Returns the infrastructure object of a Machine, if it exists.
    pub async fn infrastructure_of(
        &self,
        observed: &Observed,
        member: &ControlPlaneMachine,
    ) -> Result<Option<Infrastructure>> {
        if member.cloned_from.is_none() {
            return Ok(None);
        }
        let objects = self.infrastructure(&observed.control_plane).await?;
        let namespace = NamespacedName::of(member.machine.as_ref()).namespace;
        let name = member.machine.spec.infrastructure_ref.name.as_str();
        let found = objects.get(&NamespacedName::new(namespace, name));
        Ok(found.map(|object| (objects, object)))
    }

    /// Forgets what was applied to a Machine that goes, and to its objects.
    pub async fn forget_applied(&self, observed: &Observed, member: &ControlPlaneMachine) {
        self.applied.forget(object::uid(member.machine.as_ref()));
        if let Some(config) = &member.config {
            self.applied.forget(object::uid(config.as_ref()));
        }
        if let Ok(Some((_, object))) = self.infrastructure_of(observed, member).await {
            self.applied.forget(object::uid(object.as_ref()));
        }
    }
}
