//! The shim: a Secret that owns the infrastructure and the control plane until the Cluster refers to them. If this process ends in
//! between, they are deleted with the shim.

use engine::names::SECRET_TYPE;
use engine::{Result, owners};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemas::cluster::Cluster;
use serde_json::{Value, json};

use super::writer::Writer;
use crate::{Current, Desired};

/// What the shim is for in a reconcile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shim {
    /// Something is created now, and the shim owns it.
    Needed,
    /// The Cluster is not yet the owner of everything, so the shim stays.
    Kept,
    /// The Cluster owns everything.
    Done,
}

/// Returns what the shim is for.
pub fn state(current: &Current) -> Shim {
    let (Some(infrastructure), Some(control_plane)) = (&current.infrastructure, &current.control_plane)
    else {
        return Shim::Needed;
    };
    let uid = current.cluster.metadata.uid.as_deref().unwrap_or_default();
    let is_owned = |object: &Value| owner_uids(object).any(|owner| owner == uid);
    if is_owned(infrastructure) && is_owned(&control_plane.object) { Shim::Done } else { Shim::Kept }
}

fn owner_uids(object: &Value) -> impl Iterator<Item = &str> {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten().filter_map(|owner| owner["uid"].as_str())
}

/// Returns the name of the shim of a Cluster.
pub fn name(cluster: &Cluster) -> String {
    format!("{}-shim", cluster.metadata.name.as_deref().unwrap_or_default())
}

fn secret(cluster: &Cluster) -> Secret {
    Secret {
        metadata: ObjectMeta {
            name: Some(name(cluster)),
            namespace: cluster.metadata.namespace.clone(),
            owner_references: Some(vec![owners::reference(cluster, &())]),
            ..ObjectMeta::default()
        },
        type_: Some(SECRET_TYPE.to_owned()),
        ..Secret::default()
    }
}

/// Keeps the reference to the shim of an object that exists: an apply without it would remove it.
fn keep(current: Option<&Value>, desired: &mut Value, name: &str) {
    let owners = current.and_then(|current| current["metadata"]["ownerReferences"].as_array());
    let mut shims =
        owners.into_iter().flatten().filter(|owner| owner["kind"] == "Secret" && owner["name"] == name);
    if let Some(shim) = shims.next() {
        desired["metadata"]["ownerReferences"] = json!([shim]);
    }
}

/// Makes the shim the owner of what is created now, and returns what it is for.
///
/// # Errors
/// The shim cannot be created.
pub async fn prepare(writer: &Writer<'_>, current: &Current, desired: &mut Desired) -> Result<Shim> {
    let cluster = &current.cluster;
    let state = state(current);
    match state {
        Shim::Needed => {
            let (shim, _) = writer.handles.secrets.create_if_absent(&secret(cluster)).await?;
            let owner = json!([owners::reference(shim.as_ref(), &())]);
            desired.infrastructure["metadata"]["ownerReferences"] = owner.clone();
            desired.control_plane["metadata"]["ownerReferences"] = owner;
        }
        Shim::Kept => {
            let name = name(cluster);
            keep(current.infrastructure.as_ref(), &mut desired.infrastructure, &name);
            let object = current.control_plane.as_ref().map(|current| &current.object);
            keep(object, &mut desired.control_plane, &name);
        }
        Shim::Done => {}
    }
    Ok(state)
}

/// Deletes the shim once the Cluster owns everything, and nothing refers to the shim any more.
///
/// # Errors
/// The shim cannot be deleted.
pub async fn remove(writer: &Writer<'_>, state: Shim) -> Result<()> {
    if state != Shim::Done {
        return Ok(());
    }
    let (cluster, secrets) = (writer.cluster, &writer.handles.secrets);
    let namespace = cluster.metadata.namespace.as_deref().unwrap_or_default();
    let key = engine::NamespacedName::new(namespace, name(cluster));
    let uid = cluster.metadata.uid.as_deref().unwrap_or_default();
    match secrets.get(&key).filter(|shim| owners::is_owned_by(shim.as_ref(), uid)) {
        Some(shim) => secrets.delete(shim.as_ref()).await,
        None => Ok(()),
    }
}
