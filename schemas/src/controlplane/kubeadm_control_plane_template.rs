// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `controlplane`: kubeadm control plane template.

use crate::bootstrap::KubeadmConfigSpec;
use crate::cluster::MachineDeletionSpec;
use crate::cluster::MachineNaming;
use crate::cluster::MachineTaint;
use crate::controlplane::KubeadmControlPlaneRemediation;
use crate::controlplane::KubeadmControlPlaneRollout;
use crate::meta::ObjectMetaTemplate;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// What the KubeadmControlPlanes of a ClusterClass look like.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmControlPlaneTemplate {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// The template.
    pub spec: KubeadmControlPlaneTemplateSpec,
}

crate::kind!(
    KubeadmControlPlaneTemplate,
    "controlplane.cluster.x-k8s.io",
    "v1beta2",
    "kubeadmcontrolplanetemplates",
    NamespaceResourceScope,
    [metadata, spec]
);

/// What control plane machines look like. Their infrastructure comes from the ClusterClass.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmControlPlaneTemplateMachineTemplate {
    /// Labels and annotations of the machines.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub metadata: Option<ObjectMetaTemplate>,
    /// Their spec.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub spec: Option<KubeadmControlPlaneTemplateMachineTemplateSpec>,
}

/// What the spec of control plane machines looks like.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmControlPlaneTemplateMachineTemplateSpec {
    /// How long the steps of a machine's deletion may take.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub deletion: Option<MachineDeletionSpec>,
    /// Taints that the nodes get. Needs the feature MachineTaintPropagation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<MachineTaint>,
}

/// The KubeadmControlPlane that is made from the template.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmControlPlaneTemplateResource {
    /// Labels and annotations that it gets.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub metadata: Option<ObjectMetaTemplate>,
    /// Its spec.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub spec: Option<KubeadmControlPlaneTemplateResourceSpec>,
}

/// A KubeadmControlPlane's spec, less what the Cluster says: version, replicas and infrastructure.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmControlPlaneTemplateResourceSpec {
    /// How machines become control plane nodes.
    #[serde(rename = "kubeadmConfigSpec", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub kubeadm_config_spec: Option<KubeadmConfigSpec>,
    /// How machines are named.
    #[serde(rename = "machineNaming", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub machine_naming: Option<MachineNaming>,
    /// What machines look like.
    #[serde(rename = "machineTemplate", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub machine_template: Option<KubeadmControlPlaneTemplateMachineTemplate>,
    /// How often an unhealthy machine is replaced.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub remediation: Option<KubeadmControlPlaneRemediation>,
    /// When and how machines are replaced.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub rollout: Option<KubeadmControlPlaneRollout>,
}

/// The template.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmControlPlaneTemplateSpec {
    /// What each KubeadmControlPlane made from it looks like. It can't be changed.
    pub template: KubeadmControlPlaneTemplateResource,
}
