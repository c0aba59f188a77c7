//! Creates control plane Machines and keeps them in line with the spec.

use std::collections::BTreeMap;

use engine::names as shared;
use engine::{NamespacedName, Objects, object, owners};
use kube::api::DynamicObject;
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::Machine;
use schemas::controlplane::KubeadmControlPlane;
use serde_json::{Value, json};

use super::desired::{self, Entry};
use super::observe::ControlPlaneController;
use super::observed::{ControlPlaneMachine, Observed};
use super::plan::Plan;
use crate::error::{Error, Result};
use crate::names::{MANAGER, METADATA_MANAGER};

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
        let name = desired::machine_name(control_plane, &cluster, &suffix).map_err(Error::Bootstrap)?;
        let infrastructure = self.infrastructure(control_plane).await?;
        let created = self.create_infrastructure(observed, &infrastructure, &cluster, &name).await?;
        let result = self.create_rest(observed, entry, failure_domain, &cluster, &name).await;
        if let Err(error) = result {
            // The other objects are deleted with their Machine. Without a Machine nothing would ever delete
            // them.
            infrastructure.delete(created.as_ref()).await?;
            let config =
                NamespacedName::new(observed.cluster.metadata.namespace.clone().unwrap_or_default(), name);
            if let Some(config) = self.configs.get(&config) {
                self.configs.delete(config.as_ref()).await?;
            }
            let text = format!("Failed to create control plane Machine: {error}");
            self.recorder.warning(control_plane, &(), "FailedScaleUp", text);
            return Err(error);
        }
        Ok(())
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
        config.metadata.labels = Some(all_labels(control_plane, cluster));
        config.metadata.annotations = Some(desired::template_metadata(control_plane).annotations);
        config.metadata.owner_references = Some(vec![owners::reference(control_plane, &())]);
        self.configs.apply(MANAGER, &config).await?;
        let managed = observed.is_etcd_managed();
        let machine = desired::machine(control_plane, cluster, name, failure_domain, managed, None);
        let configuration = machine_configuration(&machine)?;
        let key = NamespacedName::of(&machine);
        let created = self.machines.apply_value(MANAGER, &key, configuration.clone()).await?;
        self.remember(object::uid(created.as_ref()), &configuration);
        Ok(())
    }

    async fn create_infrastructure(
        &self,
        observed: &Observed,
        objects: &Objects<DynamicObject>,
        cluster: &str,
        name: &str,
    ) -> Result<std::sync::Arc<DynamicObject>> {
        let control_plane = observed.control_plane.as_ref();
        let reference = &control_plane.spec.machine_template.spec.infrastructure_ref;
        let template = self.template(control_plane).await?.ok_or_else(|| {
            Error::Bootstrap(format!("{} {} does not exist", reference.kind, reference.name))
        })?;
        let body = &template.data["spec"]["template"];
        let mut labels = texts(&body["metadata"]["labels"]);
        labels.extend(all_labels(control_plane, cluster));
        let mut annotations = texts(&body["metadata"]["annotations"]);
        annotations.extend(desired::template_metadata(control_plane).annotations);
        annotations.insert(shared::CLONED_FROM_NAME.to_owned(), reference.name.clone());
        annotations
            .insert(shared::CLONED_FROM_GROUP_KIND.to_owned(), desired::template_group_kind(control_plane));
        let resource = objects.dynamic_type();
        let key = NamespacedName::new(control_plane.metadata.namespace.clone().unwrap_or_default(), name);
        let configuration = json!({
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {
                "name": key.name,
                "namespace": key.namespace,
                "labels": labels,
                "annotations": annotations,
                "ownerReferences": [owners::reference(control_plane, &())],
            },
            "spec": body.get("spec").cloned().unwrap_or_else(|| json!({})),
        });
        Ok(objects.apply_value(MANAGER, &key, configuration).await?)
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

    /// Remembers the configuration last applied to the object with this UID.
    fn remember(&self, uid: &str, configuration: &Value) {
        self.applied.lock().insert(uid.to_owned(), configuration.to_string());
    }

    fn is_applied(&self, uid: &str, configuration: &Value) -> bool {
        let text = configuration.to_string();
        self.applied.lock().get(uid) == Some(&text)
    }

    /// Applies the fields that change in place: labels, annotations, readiness gates, time-outs, taints.
    pub(super) async fn sync_machines(&self, observed: &Observed, plan: &Plan) -> Result<()> {
        let cluster = observed.cluster.metadata.name.clone().unwrap_or_default();
        for (member, current) in observed.machines.iter().zip(&plan.machines) {
            if member.is_deleting() {
                self.sync_deleting(&observed.control_plane, current).await?;
                continue;
            }
            let managed = observed.is_etcd_managed();
            let wanted = desired::machine(
                &observed.control_plane,
                &cluster,
                member.name(),
                None,
                managed,
                Some(&member.machine),
            );
            let configuration = machine_configuration(&wanted)?;
            let uid = object::uid(member.machine.as_ref());
            if !self.is_applied(uid, &configuration) {
                self.machines
                    .apply_value(MANAGER, &NamespacedName::of(&wanted), configuration.clone())
                    .await?;
                self.remember(uid, &configuration);
            }
            self.sync_metadata(observed, member, &cluster).await?;
        }
        self.forget_others(observed);
        Ok(())
    }

    /// Updates a Machine in deletion, which gets time-outs and taints only.
    async fn sync_deleting(&self, control_plane: &KubeadmControlPlane, machine: &Machine) -> Result<()> {
        let wanted = &control_plane.spec.machine_template.spec;
        let (before, after) =
            (machine.spec.deletion.clone().unwrap_or_default(), wanted.deletion.clone().unwrap_or_default());
        let drain = before.node_drain_timeout_seconds != after.node_drain_timeout_seconds;
        let detach = before.node_volume_detach_timeout_seconds != after.node_volume_detach_timeout_seconds;
        if !drain && !detach && machine.spec.taints == wanted.taints {
            return Ok(());
        }
        let patch = json!({"spec": {
            "deletion": {
                "nodeDrainTimeoutSeconds": after.node_drain_timeout_seconds,
                "nodeVolumeDetachTimeoutSeconds": after.node_volume_detach_timeout_seconds,
            },
            "taints": wanted.taints,
        }});
        match self.machines.merge(&NamespacedName::of(machine), None, patch).await {
            Err(error) if error.is_not_found() => Ok(()),
            result => Ok(result.map(|_| ())?),
        }
    }

    /// Applies the spec's labels and annotations to the KubeadmConfig and the infrastructure object. A
    /// separate field manager makes sure that those removed from the spec disappear from the objects, too.
    async fn sync_metadata(
        &self,
        observed: &Observed,
        member: &ControlPlaneMachine,
        cluster: &str,
    ) -> Result<()> {
        let control_plane = observed.control_plane.as_ref();
        let template = desired::template_metadata(control_plane);
        let key = NamespacedName::of(member.machine.as_ref());
        let marker = format!("{}/metadata", object::uid(member.machine.as_ref()));
        let metadata = json!({
            "name": key.name,
            "namespace": key.namespace,
            "labels": all_labels(control_plane, cluster),
            "annotations": template.annotations,
        });
        let known = self.applied.lock().contains_key(&marker);
        if self.is_applied(&marker, &metadata) {
            return Ok(());
        }
        let is_plain = template.labels.is_empty() && template.annotations.is_empty();
        if known || !is_plain {
            if member.config.is_some() {
                let configuration = json!({
                    "apiVersion": KubeadmConfig::API_VERSION, "kind": KubeadmConfig::KIND, "metadata": metadata,
                });
                self.configs.apply_value(METADATA_MANAGER, &key, configuration).await?;
            }
            if member.cloned_from.is_some() {
                let objects = self.infrastructure(control_plane).await?;
                let resource = objects.dynamic_type();
                let configuration =
                    json!({"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata});
                objects.apply_value(METADATA_MANAGER, &key, configuration).await?;
            }
        }
        self.remember(&marker, &metadata);
        Ok(())
    }

    /// Drops remembered configurations of Machines that do not exist.
    fn forget_others(&self, observed: &Observed) {
        let mut applied = self.applied.lock();
        if applied.len() > 64 + 4 * observed.machines.len() {
            let all = self.machines.all();
            let exists = |uid: &str| all.iter().any(|machine| object::uid(machine.as_ref()) == uid);
            applied.retain(|key, _| exists(key.split('/').next().unwrap_or(key)));
        }
    }
}

/// Returns the labels of a Machine and of all its objects.
fn all_labels(control_plane: &KubeadmControlPlane, cluster: &str) -> BTreeMap<String, String> {
    let mut labels = desired::template_metadata(control_plane).labels;
    labels.extend(desired::labels(control_plane, cluster));
    labels
}

fn texts(value: &Value) -> BTreeMap<String, String> {
    let entries = value.as_object().into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

/// Returns the Machine as it is applied, without its status.
fn machine_configuration(machine: &Machine) -> Result<Value> {
    let mut value = serde_json::to_value(machine)
        .map_err(|error| engine::Error::json("a control plane Machine", error))?;
    if let Value::Object(map) = &mut value {
        map.remove("status");
    }
    Ok(value)
}
