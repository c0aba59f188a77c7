//! Changes the add-ons of a workload cluster, and prepares it for Nodes of another version.

use engine::{NamespacedName, Scope, Workload};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use schemas::controlplane::KubeadmControlPlane;
use serde_json::{Value, json};

use super::coredns::{BACKUP, COREFILE, VOLUME};
use super::kubeadm_config::{self, KEY};
use super::{Change, NAMESPACE, NamedKind, coredns_name, kube_proxy_name, kubeadm_config_name};
use crate::documents;
use crate::error::{Error, Result};
use schemas::version::Version;

/// The number of times that a write is retried after a conflict.
const RETRIES: usize = 5;
const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

fn failed(what: &str) -> impl Fn(kube::Error) -> Error + '_ {
    move |error| Error::Workload(format!("{what}: {error}"))
}

/// Carries out one change of an add-on.
pub async fn change(workload: &Workload, change: &Change) -> Result<()> {
    match change {
        Change::KubeProxyImage(image) => {
            let pod = json!({"containers": [{"name": "kube-proxy", "image": image}]});
            patch_pods::<DaemonSet>(workload, &kube_proxy_name(), pod).await
        }
        Change::KubeadmConfig { text, version } => {
            write_data(workload, &kubeadm_config_name(), version, json!({KEY: text})).await
        }
        Change::Corefile { corefile, backup, version } => {
            let data = json!({COREFILE: corefile, BACKUP: backup});
            write_data(workload, &coredns_name(), version, data).await
        }
        Change::MountBackup => {
            patch_pods::<Deployment>(workload, &coredns_name(), json!({"volumes": [volume(BACKUP)]})).await
        }
        Change::CoreDnsImage { image, mounts } => {
            let mut pod = json!({"containers": [{"name": "coredns", "image": image}]});
            if *mounts {
                pod["volumes"] = json!([volume(COREFILE)]);
            }
            patch_pods::<Deployment>(workload, &coredns_name(), pod).await
        }
    }
}

/// Returns CoreDNS's volume with the value of `key` as the file `Corefile`.
fn volume(key: &str) -> Value {
    json!({"name": VOLUME, "configMap": {"name": "coredns", "items": [{"key": key, "path": COREFILE}]}})
}

/// Patches the Pod template of a workload, and observes the result.
async fn patch_pods<K: NamedKind>(workload: &Workload, name: &NamespacedName, pod: Value) -> Result<()> {
    let patch = Patch::Strategic(json!({"spec": {"template": {"spec": pod}}}));
    let api = Api::<K>::namespaced(workload.client().clone(), NAMESPACE);
    let patched = api.patch(&name.name, &PatchParams::default(), &patch).await;
    workload
        .objects_in::<K>(&Scope::named(name))
        .observe(patched.map_err(failed(&format!("update {} {name}", K::KIND)))?);
    Ok(())
}

/// Writes keys of a ConfigMap; fails with a conflict if it is not at `version` any more.
async fn write_data(workload: &Workload, name: &NamespacedName, version: &str, data: Value) -> Result<()> {
    let patch = json!({"metadata": {"resourceVersion": version}, "data": data});
    workload.objects_in::<ConfigMap>(&Scope::named(name)).merge(name, None, patch).await?;
    Ok(())
}

/// Prepares the workload cluster for Nodes of the control plane's version.
pub async fn prepare_upgrade(workload: &Workload, control_plane: &KubeadmControlPlane) -> Result<()> {
    let version = Version::parse(&control_plane.spec.version).ok_or_else(|| {
        Error::Version(format!("spec.version {} is no version", control_plane.spec.version))
    })?;
    if !version.at_least(1, 38) {
        ensure_bindings(workload).await?;
    }
    update_kubeadm_config(workload, control_plane, &version).await
}

async fn update_kubeadm_config(
    workload: &Workload,
    control_plane: &KubeadmControlPlane,
    version: &Version,
) -> Result<()> {
    let (name, maps) =
        (kubeadm_config_name(), workload.objects_in::<ConfigMap>(&Scope::named(&kubeadm_config_name())));
    let spec = control_plane.spec.kubeadm_config_spec.as_ref();
    let config = spec.and_then(|spec| spec.cluster_configuration.clone()).unwrap_or_default();
    for attempt in 0.. {
        let map = maps.get_live(&name).await?.ok_or_else(|| {
            Error::Workload("ConfigMap kubeadm-config does not exist: kubeadm can't join nodes".to_owned())
        })?;
        let text = kubeadm_config::text(&map)?;
        let updated = kubeadm_config::updated_configuration(text, &config, version)?;
        let Some(updated) = updated else { return Ok(()) };
        let version = map.metadata.resource_version.clone().unwrap_or_default();
        let data = json!({KEY: documents::to_yaml(&updated)?});
        match write_data(workload, &name, &version, data).await {
            Err(Error::Engine(error)) if error.is_conflict() && attempt < RETRIES => {}
            result => return result,
        }
    }
    Ok(())
}

/// Creates the ClusterRoleBindings that kubeadm creates for its own users since 1.29.
async fn ensure_bindings(workload: &Workload) -> Result<()> {
    let api = Api::<ClusterRoleBinding>::all(workload.client().clone());
    let group = ("kubeadm:cluster-admins", "cluster-admin", "Group", "kubeadm:cluster-admins");
    let user = (
        "kubeadm:apiserver-kubelet-client",
        "system:kubelet-api-admin",
        "User",
        "kube-apiserver-kubelet-client",
    );
    for (name, role, kind, subject) in [group, user] {
        let binding = ClusterRoleBinding {
            metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
            role_ref: RoleRef {
                api_group: Some(RBAC_GROUP.to_owned()),
                kind: "ClusterRole".to_owned(),
                name: role.to_owned(),
            },
            subjects: Some(vec![Subject {
                api_group: Some(RBAC_GROUP.to_owned()),
                kind: kind.to_owned(),
                name: subject.to_owned(),
                namespace: None,
            }]),
        };
        match api.create(&PostParams::default(), &binding).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            result => drop(result.map_err(failed("create a ClusterRoleBinding"))?),
        }
    }
    Ok(())
}
