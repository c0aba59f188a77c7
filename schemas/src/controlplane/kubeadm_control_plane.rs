// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `controlplane`: kubeadm control plane.

use crate::bootstrap::KubeadmConfigSpec;
use crate::cluster::ConditionGate;
use crate::cluster::MachineDeletionSpec;
use crate::cluster::MachineNaming;
use crate::cluster::MachineTaint;
use crate::meta::Condition;
use crate::meta::ContractVersionedObjectReference;
use crate::meta::ObjectMetaTemplate;
use crate::meta::StatusVersion;
use crate::meta::V1Beta1Condition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::{Deserialize, Serialize};

/// Keeps the control plane of a cluster on machines set up with kubeadm: makes, joins, upgrades and
/// replaces them one by one.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmControlPlane {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// What control plane is wanted.
    pub spec: KubeadmControlPlaneSpec,
    /// How the control plane is. A number is absent while it is unknown.
    pub status: Option<KubeadmControlPlaneStatus>,
}

crate::kind!(
    KubeadmControlPlane,
    "controlplane.cluster.x-k8s.io",
    "v1beta2",
    "kubeadmcontrolplanes",
    NamespaceResourceScope,
    [metadata, spec, status]
);

crate::has_conditions!(KubeadmControlPlane);

/// Fields that only older clients read.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmControlPlaneDeprecatedStatus {
    /// What status said in the API version v1beta1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub v1beta1: Option<KubeadmControlPlaneV1Beta1DeprecatedStatus>,
}

/// Steps that happen once and never go back.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmControlPlaneInitializationStatus {
    /// Whether the API server has answered for the first time, with kubeadm's configuration in it.
    #[serde(rename = "controlPlaneInitialized", skip_serializing_if = "Option::is_none")]
    pub control_plane_initialized: Option<bool>,
}

/// What control plane machines look like.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmControlPlaneMachineTemplate {
    /// Labels and annotations of the machines, and of their infrastructure and bootstrap objects. A change
    /// is applied to running machines.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub metadata: Option<ObjectMetaTemplate>,
    /// Their spec.
    pub spec: KubeadmControlPlaneMachineTemplateSpec,
}

/// What the spec of control plane machines looks like.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmControlPlaneMachineTemplateSpec {
    /// How long the steps of a machine's deletion may take.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub deletion: Option<MachineDeletionSpec>,
    /// Template of the machines' infrastructure, in the same namespace. Another template replaces the
    /// machines.
    #[serde(rename = "infrastructureRef")]
    pub infrastructure_ref: ContractVersionedObjectReference,
    /// Further conditions of a machine that must be good for it to be Ready. Those of the control plane's
    /// components always count.
    #[serde(rename = "readinessGates", skip_serializing_if = "Vec::is_empty")]
    pub readiness_gates: Vec<ConditionGate>,
    /// Taints that the nodes get. Needs the feature MachineTaintPropagation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<MachineTaint>,
}

/// How often an unhealthy machine is replaced. A replacement that becomes unhealthy too counts as a
/// retry.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmControlPlaneRemediation {
    /// How many times. No limit unless set.
    #[serde(rename = "maxRetry", skip_serializing_if = "Option::is_none")]
    pub max_retry: Option<i32>,
    /// A machine that was healthy for this long is no retry any more. 3600 unless set.
    #[serde(rename = "minHealthyPeriodSeconds", skip_serializing_if = "Option::is_none")]
    pub min_healthy_period_seconds: Option<i32>,
    /// How long to wait before the next try. 0 unless set.
    #[serde(rename = "retryPeriodSeconds", skip_serializing_if = "Option::is_none")]
    pub retry_period_seconds: Option<i32>,
}

/// How far the number of machines may be off while they are replaced.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmControlPlaneRollingUpdate {
    /// Machines more than wanted: 1 adds a machine before one goes, 0 removes one first and needs at least
    /// 3 replicas. 1 unless set.
    #[serde(rename = "maxSurge", skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrString>,
}

/// When and how machines are replaced by new ones.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmControlPlaneRollout {
    /// Replace all machines made before this time, once it has come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Replace machines before something happens to them.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub before: Option<KubeadmControlPlaneRolloutBefore>,
    /// In which way.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub strategy: Option<KubeadmControlPlaneRolloutStrategy>,
}

/// Replace machines before something happens to them.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmControlPlaneRolloutBefore {
    /// Replace a machine this many days before its certificates run out.
    #[serde(rename = "certificatesExpiryDays", skip_serializing_if = "Option::is_none")]
    pub certificates_expiry_days: Option<i32>,
}

/// In which way machines are replaced.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmControlPlaneRolloutStrategy {
    /// Limits of a rolling update.
    #[serde(rename = "rollingUpdate", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub rolling_update: Option<KubeadmControlPlaneRollingUpdate>,
    /// RollingUpdate, the only one.
    #[serde(rename = "type")]
    pub type_: String,
}

/// What control plane is wanted.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmControlPlaneSpec {
    /// How machines become control plane nodes. Parts that kubeadm can't change later can't be changed
    /// here.
    #[serde(rename = "kubeadmConfigSpec", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub kubeadm_config_spec: Option<KubeadmConfigSpec>,
    /// How machines are named.
    #[serde(rename = "machineNaming", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub machine_naming: Option<MachineNaming>,
    /// What machines look like.
    #[serde(rename = "machineTemplate")]
    pub machine_template: KubeadmControlPlaneMachineTemplate,
    /// How often an unhealthy machine is replaced.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub remediation: Option<KubeadmControlPlaneRemediation>,
    /// How many machines. Must be odd unless etcd is external. 1 unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// When and how machines are replaced.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub rollout: Option<KubeadmControlPlaneRollout>,
    /// Kubernetes version, such as v1.35.0. Raise it by one minor at most at a time.
    pub version: String,
}

/// How the control plane is. A number is absent while it is unknown.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmControlPlaneStatus {
    /// Machines that are Available.
    #[serde(rename = "availableReplicas", skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<i32>,
    /// How things are, one entry for each aspect, each with a status, a reason and a message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Fields that only older clients read. They go away with the API version named in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<KubeadmControlPlaneDeprecatedStatus>,
    /// Steps that happen once.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub initialization: Option<KubeadmControlPlaneInitializationStatus>,
    /// The last replacement of an unhealthy machine.
    #[serde(rename = "lastRemediation", skip_serializing_if = "Option::is_none")]
    pub last_remediation: Option<LastRemediation>,
    /// The metadata.generation that the status describes. When it is lower than metadata.generation, the
    /// controller has not looked at the latest spec yet.
    #[serde(rename = "observedGeneration", skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Machines that are Ready.
    #[serde(rename = "readyReplicas", skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// Machines that exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The selector of the machines as text, for clients that read /scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Machines that are as the spec wants them.
    #[serde(rename = "upToDateReplicas", skip_serializing_if = "Option::is_none")]
    pub up_to_date_replicas: Option<i32>,
    /// The lowest version of the machines. Use versions instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How many machines run which version, the lowest version first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<StatusVersion>,
}

/// What status said in the API version v1beta1.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeadmControlPlaneV1Beta1DeprecatedStatus {
    /// Conditions as v1beta1 had them. Use status.conditions instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<V1Beta1Condition>,
    /// A sentence about a failure that needs somebody's help. Older clients only: use conditions instead.
    #[serde(rename = "failureMessage", skip_serializing_if = "Option::is_none")]
    pub failure_message: Option<String>,
    /// One word for a failure that needs somebody's help. Older clients only: use conditions instead.
    #[serde(rename = "failureReason", skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    /// Machines whose node is ready.
    #[serde(rename = "readyReplicas", skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// Machines that are missing, or not ready.
    #[serde(rename = "unavailableReplicas", skip_serializing_if = "Option::is_none")]
    pub unavailable_replicas: Option<i32>,
    /// Machines that are as the spec wants them.
    #[serde(rename = "updatedReplicas", skip_serializing_if = "Option::is_none")]
    pub updated_replicas: Option<i32>,
}

/// The last replacement of an unhealthy machine.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct LastRemediation {
    /// Name of the machine that was replaced.
    pub machine: String,
    /// How many tries there were before.
    #[serde(rename = "retryCount")]
    pub retry_count: i32,
    /// When it was.
    pub time: String,
}
