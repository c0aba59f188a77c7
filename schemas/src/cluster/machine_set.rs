// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `cluster`: machine set.

use crate::cluster::MachineNaming;
use crate::cluster::MachineSpec;
use crate::meta::Condition;
use crate::meta::ObjectMetaTemplate;
use crate::meta::StatusVersion;
use crate::meta::V1Beta1Condition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// Keeps a number of Machines that are all alike. Make MachineDeployments instead, which make
/// MachineSets.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineSet {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// A number of machines that are all alike. Mostly made by a MachineDeployment.
    pub spec: MachineSetSpec,
    /// How the machines are. A number is absent while it is unknown.
    pub status: Option<MachineSetStatus>,
}

crate::kind!(
    MachineSet,
    "cluster.x-k8s.io",
    "v1beta2",
    "machinesets",
    NamespaceResourceScope,
    [metadata, spec, status]
);

crate::has_conditions!(MachineSet);

/// Which machines go first when there are fewer.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineSetDeletion {
    /// Random, Newest or Oldest first. Machines that are unhealthy, or marked for deletion by annotation,
    /// go before all others. Random unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
}

/// Fields that only older clients read.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineSetDeprecatedStatus {
    /// What status said in the API version v1beta1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub v1beta1: Option<MachineSetV1Beta1DeprecatedStatus>,
}

/// A number of machines that are all alike. Mostly made by a MachineDeployment.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineSetSpec {
    /// The Cluster that they belong to, in the same namespace. It can't be changed.
    #[serde(rename = "clusterName")]
    pub cluster_name: String,
    /// Which machines go first when there are fewer.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub deletion: Option<MachineSetDeletion>,
    /// How machines are named.
    #[serde(rename = "machineNaming", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub machine_naming: Option<MachineNaming>,
    /// How many machines. 1 unless set, or what the annotations of the autoscaler say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Selects the Machines that belong here. Must match the labels of the template. A label with the name
    /// is made when it is empty.
    pub selector: LabelSelector,
    /// What the machines look like. Changing it does not replace machines.
    pub template: MachineTemplateSpec,
}

/// How the machines are. A number is absent while it is unknown.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineSetStatus {
    /// Machines that are Available.
    #[serde(rename = "availableReplicas", skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<i32>,
    /// How things are, one entry for each aspect, each with a status, a reason and a message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Fields that only older clients read. They go away with the API version named in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<MachineSetDeprecatedStatus>,
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
    /// The selector as text, for autoscalers that read /scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Machines that are as their owner wants them.
    #[serde(rename = "upToDateReplicas", skip_serializing_if = "Option::is_none")]
    pub up_to_date_replicas: Option<i32>,
    /// How many machines run which version, the lowest version first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<StatusVersion>,
}

/// What status said in the API version v1beta1.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineSetV1Beta1DeprecatedStatus {
    /// Machines whose node was ready for minReadySeconds.
    #[serde(rename = "availableReplicas", skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<i32>,
    /// Conditions as v1beta1 had them. Use status.conditions instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<V1Beta1Condition>,
    /// A sentence about a failure that needs somebody's help. Older clients only: use conditions instead.
    #[serde(rename = "failureMessage", skip_serializing_if = "Option::is_none")]
    pub failure_message: Option<String>,
    /// One word for a failure that needs somebody's help. Older clients only: use conditions instead.
    #[serde(rename = "failureReason", skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    /// Machines that have all labels of the template.
    #[serde(rename = "fullyLabeledReplicas", skip_serializing_if = "Option::is_none")]
    pub fully_labeled_replicas: Option<i32>,
    /// Machines whose node is ready.
    #[serde(rename = "readyReplicas", skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
}

/// What machines made from here look like.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineTemplateSpec {
    /// Labels and annotations of the machines, and of their infrastructure and bootstrap objects.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub metadata: Option<ObjectMetaTemplate>,
    /// Their spec.
    pub spec: MachineSpec,
}
