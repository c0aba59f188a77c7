//! Creates control plane Machines and keeps them in line with the spec.

use std::sync::Arc;

use engine::propagated::Removed;
use engine::{Kind, NamespacedName, Objects, object, owners, unless_gone};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::Machine;
use serde_json::json;

use super::desired::{self, Entry};
use super::machine_parts::{Infrastructure, MachineParts};
use super::observed::Observed;
use super::record;
use crate::error::{Error, Result};
use crate::names::{CERTIFICATES_EXPIRY, CLEANUP_HOOK, MANAGER, METADATA_MANAGER};

/// Creates infrastructure object, KubeadmConfig and Machine, in this order; after a failure, deletes what
/// it created.
pub(super) async fn create(
    parts: &MachineParts,
    observed: &Observed,
    entry: Entry,
    failure_domain: Option<&str>,
) -> Result<()> {
    let control_plane = observed.control_plane.as_ref();
    let suffix = parts.manager.random().name_suffix();
    let name = desired::machine_name(control_plane, observed.cluster_name(), &suffix)?;
    let result = create_parts(parts, observed, entry, failure_domain, &name).await;
    result.map_err(|error| {
        let error = error.into_engine().without_suffix(&suffix);
        let text = format!("Failed to create control plane Machine: {error}");
        parts.recorder.warning(control_plane, &(), "FailedScaleUp", text);
        Error::Engine(error)
    })
}

async fn create_parts(
    parts: &MachineParts,
    observed: &Observed,
    entry: Entry,
    failure_domain: Option<&str>,
    name: &str,
) -> Result<()> {
    let (infrastructure, created) = create_infrastructure(parts, observed, name).await?;
    let result = create_rest(parts, observed, entry, failure_domain, name).await;
    if result.is_err() {
        // The other objects are deleted with their Machine. Without a Machine nothing would ever delete
        // them.
        infrastructure.delete(created.as_ref()).await?;
        let namespace = observed.cluster.metadata.namespace.clone().unwrap_or_default();
        if let Some(config) = parts.configs.get(&NamespacedName::new(namespace, name)) {
            parts.configs.delete(config.as_ref()).await?;
        }
    }
    result
}

async fn create_rest(
    parts: &MachineParts,
    observed: &Observed,
    entry: Entry,
    failure_domain: Option<&str>,
    name: &str,
) -> Result<()> {
    let (control_plane, cluster) = (observed.control_plane.as_ref(), observed.cluster_name());
    let mut config =
        KubeadmConfig { spec: desired::kubeadm_config(control_plane, entry), ..KubeadmConfig::default() };
    config.metadata.name = Some(name.to_owned());
    config.metadata.namespace = control_plane.metadata.namespace.clone();
    config.metadata.labels = Some(desired::all_labels(control_plane, cluster));
    config.metadata.annotations = Some(desired::template_metadata(control_plane).annotations);
    config.metadata.owner_references = Some(vec![owners::reference(control_plane, &())]);
    parts.applied.apply(&parts.configs, MANAGER, None, &config).await?;
    let (managed, record) = (observed.is_etcd_managed(), record::carried(observed));
    let machine = desired::machine(control_plane, cluster, name, failure_domain, managed, record);
    parts.applied.apply(&parts.machines, MANAGER, None, &machine).await?;
    Ok(())
}

async fn create_infrastructure(
    parts: &MachineParts,
    observed: &Observed,
    name: &str,
) -> Result<Infrastructure> {
    let owner = owners::reference(observed.control_plane.as_ref(), &());
    let made = parts.clone_infrastructure(observed, name, Some(owner)).await?;
    let (object, resource) = made.ok_or_else(|| {
        let reference = &observed.control_plane.spec.machine_template.spec.infrastructure_ref;
        Error::Bootstrap(format!("{} {} does not exist", reference.kind, reference.name))
    })?;
    let objects = parts.manager.dynamic(&resource);
    let created = parts.applied.apply(&objects, MANAGER, None, &object).await?;
    Ok((objects, created))
}

/// Deletes the objects of Machines whose creation was interrupted.
pub(super) async fn delete_leftovers(
    parts: &MachineParts,
    observed: &Observed,
    names: &[String],
) -> Result<()> {
    let namespace = observed.cluster.metadata.namespace.clone().unwrap_or_default();
    let uid = object::uid(observed.control_plane.as_ref());
    let infrastructure = parts.infrastructure(&observed.control_plane).await?;
    for name in names {
        let key = NamespacedName::new(namespace.as_str(), name.as_str());
        if let Some(config) =
            parts.configs.get(&key).filter(|config| owners::is_owned_by(config.as_ref(), uid))
        {
            parts.configs.delete(config.as_ref()).await?;
        }
        if let Some(found) = infrastructure.get(&key).filter(|found| owners::is_owned_by(found.as_ref(), uid))
        {
            infrastructure.delete(found.as_ref()).await?;
        }
    }
    Ok(())
}

/// Applies the fields that change in place: labels, annotations, readiness gates, time-outs, taints.
pub(super) async fn sync(parts: &MachineParts, observed: &Observed) -> Result<()> {
    let control_plane = observed.control_plane.as_ref();
    for member in &observed.machines {
        // Its conditions have just been written.
        let Some(machine) = parts.latest(member) else { continue };
        if member.is_deleting() {
            let wanted = desired::deleting_machine(control_plane, &machine);
            unless_gone(parts.machines.patch(&machine, &wanted, &[]).await)?;
            continue;
        }
        let managed = observed.is_etcd_managed();
        let wanted = desired::existing_machine(control_plane, observed.cluster_name(), managed, &machine);
        let infrastructure = parts.infrastructure_of(observed, member).await?;
        let mut kept = wanted.metadata.clone();
        // The Machine and the KubeadmConfig have this annotation, but no template does.
        kept.annotations.get_or_insert_default().insert(CERTIFICATES_EXPIRY.to_owned(), String::new());
        if let Some(config) = &member.config {
            remove_metadata(parts, &parts.configs, config, &machine, &kept).await?;
        }
        if let Some((objects, object)) = &infrastructure {
            remove_metadata(parts, objects, object, &machine, &kept).await?;
        }
        parts.applied.apply(&parts.machines, MANAGER, Some(&machine), &wanted).await?;
        if let Some(config) = &member.config {
            apply_metadata(parts, &parts.configs, config, observed).await?;
        }
        if let Some((objects, object)) = &infrastructure {
            apply_metadata(parts, objects, object, observed).await?;
        }
    }
    Ok(())
}

/// Removes labels and annotations from a KubeadmConfig or infrastructure object that the Machine still has, and `kept` lacks.
async fn remove_metadata<K: Kind>(
    parts: &MachineParts,
    objects: &Objects<K>,
    object: &Arc<K>,
    machine: &Machine,
    kept: &ObjectMeta,
) -> Result<()> {
    if let Some(removed) = Removed::of(&machine.metadata, object.meta(), kept) {
        removed.remove(objects, &parts.applied, &[MANAGER, METADATA_MANAGER], object).await?;
    }
    Ok(())
}

/// Applies the spec's labels and annotations to a KubeadmConfig or infrastructure object.
async fn apply_metadata<K: Kind>(
    parts: &MachineParts,
    objects: &Objects<K>,
    object: &Arc<K>,
    observed: &Observed,
) -> Result<()> {
    let (control_plane, kind) = (observed.control_plane.as_ref(), objects.dynamic_type());
    let (key, current) = (NamespacedName::of(object.as_ref()), object.meta());
    let wanted = json!({"apiVersion": K::api_version(kind), "kind": K::kind(kind), "metadata": {
        "name": current.name, "namespace": current.namespace, "uid": current.uid,
        "labels": desired::all_labels(control_plane, observed.cluster_name()),
        "annotations": desired::template_metadata(control_plane).annotations,
    }});
    parts.applied.apply_value(objects, METADATA_MANAGER, Some(object), &key, wanted).await?;
    Ok(())
}

/// Makes the Cluster an owner of the infrastructure template.
pub(super) async fn own_template(parts: &MachineParts, observed: &Observed) -> Result<()> {
    let Some(template) = parts.template(&observed.control_plane).await? else { return Ok(()) };
    let mut wanted = template.object.as_ref().clone();
    owners::ensure(&mut wanted, owners::reference(observed.cluster.as_ref(), &()));
    parts.external.handle(&template).patch(&template.object, &wanted, &[]).await?;
    Ok(())
}

/// Deletes the Machine of this name.
pub(super) async fn delete(parts: &MachineParts, observed: &Observed, name: &str) -> Result<()> {
    if let Some(member) = observed.member(name) {
        parts.machines.delete(member.machine.as_ref()).await?;
    }
    Ok(())
}

/// Removes the pre-terminate hook of the Machine of this name.
pub(super) async fn remove_hook(parts: &MachineParts, observed: &Observed, name: &str) -> Result<()> {
    let Some(member) = observed.member(name) else { return Ok(()) };
    parts.forget_applied(observed, member).await;
    let patch = json!({"metadata": {"annotations": {CLEANUP_HOOK: null}}});
    let key = NamespacedName::of(member.machine.as_ref());
    Ok(unless_gone(parts.machines.merge(&key, None, patch).await)?)
}
