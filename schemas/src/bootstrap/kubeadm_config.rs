// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `bootstrap`: kubeadm config.

use crate::bootstrap::ClusterConfiguration;
use crate::bootstrap::DiskSetup;
use crate::bootstrap::File;
use crate::bootstrap::IgnitionSpec;
use crate::bootstrap::InitConfiguration;
use crate::bootstrap::JoinConfiguration;
use crate::bootstrap::Ntp;
use crate::bootstrap::User;
use crate::meta::Condition;
use crate::meta::ObjectMetaTemplate;
use crate::meta::V1Beta1Condition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// Makes the data with which a machine boots and becomes a node, through kubeadm.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmConfig {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// How a machine becomes a node: what kubeadm is told, and what happens on the machine before and
    /// after.
    pub spec: KubeadmConfigSpec,
    /// What the controller last saw of the KubeadmConfig.
    pub status: Option<KubeadmConfigStatus>,
}

crate::kind!(
    KubeadmConfig,
    "bootstrap.cluster.x-k8s.io",
    "v1beta2",
    "kubeadmconfigs",
    NamespaceResourceScope,
    [metadata, (spec), status]
);

crate::has_conditions!(KubeadmConfig);

/// What the KubeadmConfigs of a set of machines look like.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmConfigTemplate {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// The template.
    pub spec: KubeadmConfigTemplateSpec,
}

crate::kind!(
    KubeadmConfigTemplate,
    "bootstrap.cluster.x-k8s.io",
    "v1beta2",
    "kubeadmconfigtemplates",
    NamespaceResourceScope,
    [metadata, spec]
);

/// Fields that only older clients read.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmConfigDeprecatedStatus {
    /// What status said in the API version v1beta1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub v1beta1: Option<KubeadmConfigV1Beta1DeprecatedStatus>,
}

/// Steps that happen once.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmConfigInitializationStatus {
    /// Whether the Secret with the bootstrap data exists. The Machine waits for it before its
    /// infrastructure is made.
    #[serde(rename = "dataSecretCreated", skip_serializing_if = "Option::is_none")]
    pub data_secret_created: Option<bool>,
}

/// How a machine becomes a node: what kubeadm is told, and what happens on the machine before and
/// after.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmConfigSpec {
    /// Commands that cloud-init runs very early at each boot, before files are written.
    #[serde(rename = "bootCommands", skip_serializing_if = "Vec::is_empty")]
    pub boot_commands: Vec<String>,
    /// Settings of the whole cluster. They count on the machine that initialises the cluster.
    #[serde(rename = "clusterConfiguration", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub cluster_configuration: Option<ClusterConfiguration>,
    /// Partitions and file systems to make.
    #[serde(rename = "diskSetup", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub disk_setup: Option<DiskSetup>,
    /// Files to write before kubeadm runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<File>,
    /// Form of the bootstrap data: cloud-config or ignition. cloud-config unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Settings that only ignition has.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub ignition: Option<IgnitionSpec>,
    /// What kubeadm init is told. Only for the machine that initialises the cluster.
    #[serde(rename = "initConfiguration", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub init_configuration: Option<InitConfiguration>,
    /// What kubeadm join is told.
    #[serde(rename = "joinConfiguration", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub join_configuration: Option<JoinConfiguration>,
    /// File systems to mount, each as the columns of a line of /etc/fstab.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Vec<String>>,
    /// How the machine sets its clock.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub ntp: Option<Ntp>,
    /// Commands to run after kubeadm.
    #[serde(rename = "postKubeadmCommands", skip_serializing_if = "Vec::is_empty")]
    pub post_kubeadm_commands: Vec<String>,
    /// Commands to run before kubeadm.
    #[serde(rename = "preKubeadmCommands", skip_serializing_if = "Vec::is_empty")]
    pub pre_kubeadm_commands: Vec<String>,
    /// Users to create on the machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<User>,
    /// How much kubeadm logs, its flag --v.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<i32>,
}

/// What the controller last saw of the KubeadmConfig.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmConfigStatus {
    /// How things are, one entry for each aspect, each with a status, a reason and a message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Name of the Secret with the bootstrap data, under its key value.
    #[serde(rename = "dataSecretName", skip_serializing_if = "Option::is_none")]
    pub data_secret_name: Option<String>,
    /// Fields that only older clients read. They go away with the API version named in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<KubeadmConfigDeprecatedStatus>,
    /// Steps that happen once.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub initialization: Option<KubeadmConfigInitializationStatus>,
    /// The metadata.generation that the status describes. When it is lower than metadata.generation, the
    /// controller has not looked at the latest spec yet.
    #[serde(rename = "observedGeneration", skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// The KubeadmConfig that is made from the template.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmConfigTemplateResource {
    /// Labels and annotations that it gets.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub metadata: Option<ObjectMetaTemplate>,
    /// Its spec.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub spec: Option<KubeadmConfigSpec>,
}

/// The template.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmConfigTemplateSpec {
    /// What each KubeadmConfig made from it looks like.
    pub template: KubeadmConfigTemplateResource,
}

/// What status said in the API version v1beta1.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmConfigV1Beta1DeprecatedStatus {
    /// Conditions as v1beta1 had them. Use status.conditions instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<V1Beta1Condition>,
    /// A sentence about a failure that needs somebody's help. Older clients only: use conditions instead.
    #[serde(rename = "failureMessage", skip_serializing_if = "Option::is_none")]
    pub failure_message: Option<String>,
    /// One word for a failure that needs somebody's help. Older clients only: use conditions instead.
    #[serde(rename = "failureReason", skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
}
