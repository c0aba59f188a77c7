//! Changes the add-ons of a workload cluster, and what kubeadm needs there.

use engine::{NamespacedName, Scope, Workload};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::coredns::{BACKUP, COREFILE, VOLUME};
use super::kubeadm_config::KEY;
use super::{Binding, Change, NAMESPACE, NamedKind, coredns_name, kube_proxy_name, kubeadm_config_name};
use crate::error::{Error, Result};

fn failed(what: &str) -> impl Fn(kube::Error) -> Error + '_ {
    move |error| Error::Workload(format!("{what}: {error}"))
}

/// Carries out one change of an add-on.
pub async fn change(workload: &Workload, change: &Change) -> Result<()> {
    match change {
        Change::ClusterRoleBinding(binding) => bind(workload, *binding).await,
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

/// Creates a ClusterRoleBinding, unless somebody else has created it.
async fn bind(workload: &Workload, binding: Binding) -> Result<()> {
    let api = Api::<ClusterRoleBinding>::all(workload.client().clone());
    match api.create(&PostParams::default(), &binding.object()).await {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        result => {
            let what = format!("create ClusterRoleBinding {}", binding.name);
            result.map(|_| ()).map_err(failed(&what))
        }
    }
}
