//! Creates control plane Machines and keeps them in line with the spec.

use std::sync::Arc;

use engine::external::{Clone, clone_template};
use engine::propagated::Removed;
use engine::{NamespacedName, Objects, object, owners, unless_gone};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DynamicObject, TypeMeta};
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::Machine;
use serde_json::json;

use super::desired::{self, Entry};
use super::observe::ControlPlaneController;
use super::observed::{ControlPlaneMachine, Observed};
use super::record;
use crate::error::{Error, Result};
use crate::names::{CERTIFICATES_EXPIRY, MANAGER, METADATA_MANAGER};

/// The infrastructure object of a Machine, and the handle for its kind.
type Infrastructure = (Objects<DynamicObject>, Arc<DynamicObject>);

impl ControlPlaneController {
    /// Creates infrastructure object, KubeadmConfig and Machine, in this order; after a failure, deletes what
    /// it created.
    pub(super) async fn create_machine(
        &self,
        observed: &Observed,
        entry: Entry,
        failure_domain: Option<&str>,
    ) -> Result<()> {
        let control_plane = observed.control_plane.as_ref();
        let cluster = observed.cluster.metadata.name.clone().unwrap_or_default();
        let suffix = self.manager.random().name_suffix();
        let name = desired::machine_name(control_plane, &cluster, &suffix)?;
        let result = self.create_parts(observed, entry, failure_domain, &cluster, &name).await;
        result.map_err(|error| {
            let error = error.into_engine().without_suffix(&suffix);
            let text = format!("Failed to create control plane Machine: {error}");
            self.recorder.warning(control_plane, &(), "FailedScaleUp", text);
            Error::Engine(error)
        })
    }

    async fn create_parts(
        &self,
        observed: &Observed,
        entry: Entry,
        failure_domain: Option<&str>,
        cluster: &str,
        name: &str,
    ) -> Result<()> {
        let (infrastructure, created) = self.create_infrastructure(observed, cluster, name).await?;
        let result = self.create_rest(observed, entry, failure_domain, cluster, name).await;
        if result.is_err() {
            // The other objects are deleted with their Machine. Without a Machine nothing would ever delete
            // them.
            infrastructure.delete(created.as_ref()).await?;
            let namespace = observed.cluster.metadata.namespace.clone().unwrap_or_default();
            if let Some(config) = self.configs.get(&NamespacedName::new(namespace, name)) {
                self.configs.delete(config.as_ref()).await?;
            }
        }
        result
    }

    async fn create_rest(
        &self,
        observed: &Observed,
        entry: Entry,
        failure_domain: Option<&str>,
        cluster: &str,
        name: &str,
    ) -> Result<()> {
        let control_plane = observed.control_plane.as_ref();
        let mut config =
            KubeadmConfig { spec: desired::kubeadm_config(control_plane, entry), ..KubeadmConfig::default() };
        config.metadata.name = Some(name.to_owned());
        config.metadata.namespace = control_plane.metadata.namespace.clone();
        config.metadata.labels = Some(desired::all_labels(control_plane, cluster));
        config.metadata.annotations = Some(desired::template_metadata(control_plane).annotations);
        config.metadata.owner_references = Some(vec![owners::reference(control_plane, &())]);
        self.configs.apply_changed(&self.applied, MANAGER, None, &config).await?;
        let (managed, record) = (observed.is_etcd_managed(), record::carried(observed));
        let machine = desired::machine(control_plane, cluster, name, failure_domain, managed, record);
        self.machines.apply_changed(&self.applied, MANAGER, None, &machine).await?;
        Ok(())
    }

    async fn create_infrastructure(
        &self,
        observed: &Observed,
        cluster: &str,
        name: &str,
    ) -> Result<(Objects<DynamicObject>, Arc<DynamicObject>)> {
        let control_plane = observed.control_plane.as_ref();
        let namespace = control_plane.metadata.namespace.clone().unwrap_or_default();
        let reference = &control_plane.spec.machine_template.spec.infrastructure_ref;
        let template = self.external.get(&namespace, reference).await?.ok_or_else(|| {
            Error::Bootstrap(format!("{} {} does not exist", reference.kind, reference.name))
        })?;
        let clone = Clone {
            name: name.to_owned(),
            namespace,
            labels: desired::all_labels(control_plane, cluster),
            annotations: desired::template_metadata(control_plane).annotations,
            owner: Some(owners::reference(control_plane, &())),
        };
        let (object, resource) = clone_template(&template, clone)?;
        let objects = self.manager.dynamic(&resource);
        let created = objects.apply_changed(&self.applied, MANAGER, None, &object).await?;
        Ok((objects, created))
    }

    /// Deletes the objects of Machines whose creation was interrupted.
    pub(super) async fn delete_leftovers(&self, observed: &Observed, names: &[String]) -> Result<()> {
        let namespace = observed.cluster.metadata.namespace.clone().unwrap_or_default();
        let uid = object::uid(observed.control_plane.as_ref());
        let infrastructure = self.infrastructure(&observed.control_plane).await?;
        for name in names {
            let key = NamespacedName::new(namespace.as_str(), name.as_str());
            if let Some(config) =
                self.configs.get(&key).filter(|config| owners::is_owned_by(config.as_ref(), uid))
            {
                self.configs.delete(config.as_ref()).await?;
            }
            if let Some(found) =
                infrastructure.get(&key).filter(|found| owners::is_owned_by(found.as_ref(), uid))
            {
                infrastructure.delete(found.as_ref()).await?;
            }
        }
        Ok(())
    }

    /// Applies the fields that change in place: labels, annotations, readiness gates, time-outs, taints.
    pub(super) async fn sync_machines(&self, observed: &Observed) -> Result<()> {
        let control_plane = observed.control_plane.as_ref();
        let cluster = observed.cluster.metadata.name.clone().unwrap_or_default();
        for member in &observed.machines {
            // Its conditions have just been written.
            let latest = self.machines.get(&NamespacedName::of(member.machine.as_ref()));
            let Some(machine) = latest else { continue };
            if member.is_deleting() {
                let wanted = desired::deleting_machine(control_plane, &machine);
                unless_gone(self.machines.patch(&machine, &wanted, &[]).await)?;
                continue;
            }
            let managed = observed.is_etcd_managed();
            let wanted = desired::existing_machine(control_plane, &cluster, managed, &machine);
            let infrastructure = self.infrastructure_of(observed, member).await?;
            let config = member.config.as_ref();
            self.remove_metadata(config, infrastructure.as_ref(), &machine, &wanted).await?;
            self.machines.apply_changed(&self.applied, MANAGER, Some(&machine), &wanted).await?;
            self.sync_metadata(observed, config, infrastructure.as_ref(), &cluster).await?;
        }
        Ok(())
    }

    /// Removes labels and annotations from the KubeadmConfig and the infrastructure object that the Machine still has, and `wanted` lacks.
    async fn remove_metadata(
        &self,
        config: Option<&Arc<KubeadmConfig>>,
        infrastructure: Option<&Infrastructure>,
        machine: &Machine,
        wanted: &Machine,
    ) -> Result<()> {
        let mut wanted = wanted.metadata.clone();
        // The Machine and the KubeadmConfig have this annotation, but no template does.
        wanted.annotations.get_or_insert_default().insert(CERTIFICATES_EXPIRY.to_owned(), String::new());
        let managers = [MANAGER, METADATA_MANAGER];
        if let Some(config) = config
            && let Some(removed) = Removed::of(&machine.metadata, &config.metadata, &wanted)
        {
            self.configs.remove_propagated(&self.applied, &managers, config, &removed).await?;
        }
        if let Some((objects, object)) = infrastructure
            && let Some(removed) = Removed::of(&machine.metadata, &object.metadata, &wanted)
        {
            objects.remove_propagated(&self.applied, &managers, object, &removed).await?;
        }
        Ok(())
    }

    /// Applies the spec's labels and annotations to the KubeadmConfig and the infrastructure object.
    async fn sync_metadata(
        &self,
        observed: &Observed,
        config: Option<&Arc<KubeadmConfig>>,
        infrastructure: Option<&Infrastructure>,
        cluster: &str,
    ) -> Result<()> {
        let control_plane = observed.control_plane.as_ref();
        let configuration = |resource: &TypeMeta, current: &ObjectMeta| {
            json!({"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {
                "name": current.name, "namespace": current.namespace, "uid": current.uid,
                "labels": desired::all_labels(control_plane, cluster),
                "annotations": desired::template_metadata(control_plane).annotations,
            }})
        };
        let applied = &self.applied;
        if let Some(config) = config {
            let resource =
                TypeMeta { api_version: KubeadmConfig::API_VERSION.into(), kind: KubeadmConfig::KIND.into() };
            let (key, wanted) =
                (NamespacedName::of(config.as_ref()), configuration(&resource, &config.metadata));
            self.configs.apply_changed_value(applied, METADATA_MANAGER, Some(config), &key, wanted).await?;
        }
        if let Some((objects, object)) = infrastructure {
            let kind = objects.dynamic_type();
            let resource = TypeMeta { api_version: kind.api_version.clone(), kind: kind.kind.clone() };
            let (key, wanted) =
                (NamespacedName::of(object.as_ref()), configuration(&resource, &object.metadata));
            objects.apply_changed_value(applied, METADATA_MANAGER, Some(object), &key, wanted).await?;
        }
        Ok(())
    }

    /// Returns the infrastructure object of a Machine, if it exists.
    pub(super) async fn infrastructure_of(
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
    pub(super) async fn forget_applied(&self, observed: &Observed, member: &ControlPlaneMachine) {
        self.applied.forget(object::uid(member.machine.as_ref()));
        if let Some(config) = &member.config {
            self.applied.forget(object::uid(config.as_ref()));
        }
        if let Ok(Some((_, object))) = self.infrastructure_of(observed, member).await {
            self.applied.forget(object::uid(object.as_ref()));
        }
    }
}
