//! What a workload cluster needs before Nodes of the control plane's present spec join: RBAC of kubeadm's own users, and kubeadm's
//! configuration.

use engine::Workload;
use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use schemas::controlplane::KubeadmControlPlane;
use schemas::version::Version;

use super::kubeadm_config;
use super::{Addons, Change};
use crate::documents;
use crate::error::Error;

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";
/// From this version on, kubeadm keeps its bindings itself.
const BINDINGS_BEFORE: (u64, u64) = (1, 38);

/// A ClusterRoleBinding that kubeadm relies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Binding {
    /// The name of the ClusterRoleBinding.
    pub name: &'static str,
    role: &'static str,
    kind: &'static str,
    subject: &'static str,
}

/// The ClusterRoleBindings that kubeadm creates for its own users since 1.29.
pub const BINDINGS: [Binding; 2] = [
    Binding {
        name: "kubeadm:cluster-admins",
        role: "cluster-admin",
        kind: "Group",
        subject: "kubeadm:cluster-admins",
    },
    Binding {
        name: "kubeadm:apiserver-kubelet-client",
        role: "system:kubelet-api-admin",
        kind: "User",
        subject: "kube-apiserver-kubelet-client",
    },
];

impl Binding {
    /// Returns the object.
    pub(super) fn object(self) -> ClusterRoleBinding {
        let group = || Some(RBAC_GROUP.to_owned());
        ClusterRoleBinding {
            metadata: ObjectMeta { name: Some(self.name.to_owned()), ..ObjectMeta::default() },
            role_ref: RoleRef {
                api_group: group(),
                kind: "ClusterRole".to_owned(),
                name: self.role.to_owned(),
            },
            subjects: Some(vec![Subject {
                api_group: group(),
                kind: self.kind.to_owned(),
                name: self.subject.to_owned(),
                namespace: None,
            }]),
        }
    }
}

/// Returns the bindings that the workload cluster lacks. One that cannot be read counts as missing: creating it fails, and says why.
pub async fn missing_bindings(workload: &Workload, control_plane: &KubeadmControlPlane) -> Vec<Binding> {
    let api = Api::<ClusterRoleBinding>::all(workload.client().clone());
    let mut missing = Vec::new();
    let (major, minor) = BINDINGS_BEFORE;
    let keeps_its_own =
        Version::parse(&control_plane.spec.version).is_some_and(|version| version.at_least(major, minor));
    for binding in BINDINGS.into_iter().filter(|_| !keeps_its_own) {
        if !matches!(api.get_metadata_opt(binding.name).await, Ok(Some(_))) {
            missing.push(binding);
        }
    }
    missing
}

/// Returns the changes of the workload cluster that have to come before its next Node. Pure function.
///
/// # Errors
/// The reason why no Node can join.
pub fn changes(addons: &Addons, control_plane: &KubeadmControlPlane) -> Result<Vec<Change>, String> {
    let text = |error: Error| error.to_string();
    let version = Version::parse(&control_plane.spec.version)
        .ok_or_else(|| format!("spec.version {} is no version", control_plane.spec.version))?;
    let mut changes: Vec<Change> =
        addons.missing_bindings.iter().copied().map(Change::ClusterRoleBinding).collect();
    let map = addons.kubeadm_config.as_ref();
    let map = map
        .ok_or("ConfigMap kubeadm-config does not exist in the workload cluster: kubeadm can't join nodes")?;
    let spec = control_plane.spec.kubeadm_config_spec.as_ref();
    let config = spec.and_then(|spec| spec.cluster_configuration.clone()).unwrap_or_default();
    let current = kubeadm_config::text(map).map_err(text)?;
    if let Some(updated) = kubeadm_config::updated_configuration(current, &config, &version).map_err(text)? {
        changes.push(Change::KubeadmConfig {
            text: documents::to_yaml(&updated).map_err(text)?,
            version: map.metadata.resource_version.clone().unwrap_or_default(),
        });
    }
    Ok(changes)
}
