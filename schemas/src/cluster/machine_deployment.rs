// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `cluster`: machine deployment.

use crate::cluster::MachineNaming;
use crate::cluster::MachineSetDeletion;
use crate::cluster::MachineTemplateSpec;
use crate::meta::Condition;
use crate::meta::StatusVersion;
use crate::meta::V1Beta1Condition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::{Deserialize, Serialize};

/// Keeps a number of worker Machines, and replaces them step by step when they shall look different.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineDeployment {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// Which machines are wanted, and how they are replaced when that changes.
    pub spec: MachineDeploymentSpec,
    /// How the machines are. A number is absent while it is unknown.
    pub status: Option<MachineDeploymentStatus>,
}

crate::kind!(
    MachineDeployment,
    "cluster.x-k8s.io",
    "v1beta2",
    "machinedeployments",
    NamespaceResourceScope,
    [metadata, spec, status]
);

crate::has_conditions!(MachineDeployment);

/// Fields that only older clients read.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineDeploymentDeprecatedStatus {
    /// What status said in the API version v1beta1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub v1beta1: Option<MachineDeploymentV1Beta1DeprecatedStatus>,
}

/// How unhealthy machines are replaced.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineDeploymentRemediation {
    /// How many may be replaced at once: a number, or a percentage of replicas rounded up. No limit unless
    /// set.
    #[serde(rename = "maxInFlight", skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<IntOrString>,
}

/// How far the number of machines may be off while they are replaced. Not both can be 0.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineDeploymentRollingUpdate {
    /// Machines more than wanted: a number, or a percentage rounded up. 1 unless set.
    #[serde(rename = "maxSurge", skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrString>,
    /// Available machines fewer than wanted: a number, or a percentage rounded down. 0 unless set.
    #[serde(rename = "maxUnavailable", skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
}

/// When and how machines are replaced by new ones.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineDeploymentRollout {
    /// Replace all machines made before this time, once it has come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// In which way.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub strategy: Option<MachineDeploymentRolloutStrategy>,
}

/// In which way machines are replaced.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineDeploymentRolloutStrategy {
    /// Limits of a rolling update.
    #[serde(rename = "rollingUpdate", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub rolling_update: Option<MachineDeploymentRollingUpdate>,
    /// RollingUpdate replaces machines within limits. OnDelete makes a new machine wherever somebody
    /// deletes an old one.
    #[serde(rename = "type")]
    pub type_: String,
}

/// Which machines are wanted, and how they are replaced when that changes.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineDeploymentSpec {
    /// The Cluster that they belong to, in the same namespace. It can't be changed.
    #[serde(rename = "clusterName")]
    pub cluster_name: String,
    /// Which machines go first when there are fewer.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub deletion: Option<MachineSetDeletion>,
    /// How machines are named.
    #[serde(rename = "machineNaming", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub machine_naming: Option<MachineNaming>,
    /// Stop rolling out. Scaling goes on, in proportion over old and new machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// How unhealthy machines are replaced.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub remediation: Option<MachineDeploymentRemediation>,
    /// How many machines. 1 unless set, or what the annotations of the autoscaler say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// When and how machines are replaced.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub rollout: Option<MachineDeploymentRollout>,
    /// Selects the MachineSets and Machines that belong here. Must match the labels of the template. A
    /// label with the name is made when it is empty.
    pub selector: LabelSelector,
    /// What the machines look like. Machines are replaced when it changes in a way that can't be applied to
    /// running ones.
    pub template: MachineTemplateSpec,
}

/// How the machines are. A number is absent while it is unknown.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineDeploymentStatus {
    /// Machines that are Available.
    #[serde(rename = "availableReplicas", skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<i32>,
    /// How things are, one entry for each aspect, each with a status, a reason and a message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Fields that only older clients read. They go away with the API version named in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<MachineDeploymentDeprecatedStatus>,
    /// The metadata.generation that the status describes. When it is lower than metadata.generation, the
    /// controller has not looked at the latest spec yet.
    #[serde(rename = "observedGeneration", skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// One word for what is going on, for people. Programs read conditions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Machines that are Ready.
    #[serde(rename = "readyReplicas", skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// Machines that exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The selector as text, for autoscalers that read /scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Machines that are as the template wants them.
    #[serde(rename = "upToDateReplicas", skip_serializing_if = "Option::is_none")]
    pub up_to_date_replicas: Option<i32>,
    /// How many machines run which version, the lowest version first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<StatusVersion>,
}

/// What status said in the API version v1beta1.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineDeploymentV1Beta1DeprecatedStatus {
    /// Machines whose node was ready for minReadySeconds.
    #[serde(rename = "availableReplicas", skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<i32>,
    /// Conditions as v1beta1 had them. Use status.conditions instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<V1Beta1Condition>,
    /// Machines whose node is ready.
    #[serde(rename = "readyReplicas", skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// Machines that are missing, or not available.
    #[serde(rename = "unavailableReplicas", skip_serializing_if = "Option::is_none")]
    pub unavailable_replicas: Option<i32>,
    /// Machines that are as the template wants them.
    #[serde(rename = "updatedReplicas", skip_serializing_if = "Option::is_none")]
    pub updated_replicas: Option<i32>,
}
