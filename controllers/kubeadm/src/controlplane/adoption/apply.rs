//! Adopts control plane Machines, with the Secrets of their KubeadmConfigs.

use engine::names::CLUSTER_NAME;
use engine::{NamespacedName, Objects, object, owners};
use k8s_openapi::api::core::v1::Secret;
use schemas::bootstrap::KubeadmConfig;
use schemas::controlplane::KubeadmControlPlane;

use crate::cluster_secrets::ClusterSecrets;
use crate::controlplane::machine_parts::MachineParts;
use crate::controlplane::observed::Observed;
use crate::error::{Error, Result};

/// Takes control of the Machines of these names. Their Secrets come first: a process that ends in between finds the Machines without
/// a controller and goes on.
pub async fn adopt(
    control_planes: &Objects<KubeadmControlPlane>,
    parts: &MachineParts,
    secrets: &ClusterSecrets,
    observed: &Observed,
    names: &[String],
) -> Result<()> {
    let control_plane = observed.control_plane.as_ref();
    check_existence(control_planes, control_plane).await?;
    let namespace = control_plane.metadata.namespace.clone().unwrap_or_default();
    let is_meant = |name: Option<&String>| name.is_some_and(|name| names.contains(name));
    for machine in observed.orphans.iter().filter(|machine| is_meant(machine.metadata.name.as_ref())) {
        let reference = machine.spec.bootstrap.config_ref.as_ref();
        let key = NamespacedName::new(namespace.as_str(), reference.map_or("", |it| it.name.as_str()));
        let config = parts.configs.get(&key).ok_or_else(|| {
            let machine = NamespacedName::of(machine.as_ref());
            Error::Bootstrap(format!(
                "Machine {machine} can't be adopted: KubeadmConfig {key} does not exist"
            ))
        })?;
        adopt_secrets(&secrets.objects, observed, &config).await?;
        let mut wanted = machine.as_ref().clone();
        owners::ensure(&mut wanted, owners::controller_reference(control_plane, &()));
        parts.machines.patch(machine, &wanted, &[]).await?;
    }
    Ok(())
}

/// Asks the API server whether the control plane still exists: the garbage collector may have just made the Machines orphans because
/// it does not.
async fn check_existence(
    control_planes: &Objects<KubeadmControlPlane>,
    control_plane: &KubeadmControlPlane,
) -> Result<()> {
    let key = NamespacedName::of(control_plane);
    let latest = control_planes.get_live(&key).await?;
    let exists = latest.is_some_and(|latest| {
        object::uid(latest.as_ref()) == object::uid(control_plane) && !object::is_deleting(latest.as_ref())
    });
    if exists {
        return Ok(());
    }
    Err(Error::Bootstrap(format!("KubeadmControlPlane {key} adopts no Machines: it has just been deleted")))
}

/// Takes over the Secrets that a KubeadmConfig owns, except for its bootstrap data.
async fn adopt_secrets(secrets: &Objects<Secret>, observed: &Observed, config: &KubeadmConfig) -> Result<()> {
    let uid = object::uid(config);
    let data = config.status.as_ref().and_then(|status| status.data_secret_name.as_ref());
    let cluster = observed.cluster.metadata.name.as_deref();
    let is_meant = |secret: &Secret| {
        object::label(secret, CLUSTER_NAME) == cluster && secret.metadata.name.as_ref() != data
    };
    for secret in secrets.by_owner(uid).iter().filter(|secret| is_meant(secret.as_ref())) {
        let mut wanted = secret.as_ref().clone();
        wanted.metadata.owner_references.get_or_insert_default().retain(|owner| owner.uid != uid);
        let owner = owners::controller_reference(observed.control_plane.as_ref(), &());
        owners::ensure(&mut wanted, owner);
        secrets.patch(secret, &wanted, &[]).await?;
    }
    Ok(())
}
