// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `cluster`: machine pool.

use crate::cluster::MachineInitializationStatus;
use crate::cluster::MachineTemplateSpec;
use crate::meta::Condition;
use crate::meta::ObjectReference;
use crate::meta::StatusVersion;
use crate::meta::V1Beta1Condition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// Keeps a number of machines that the infrastructure manages as one group.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachinePool {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// Machines that the infrastructure keeps as one group, such as an autoscaling group.
    pub spec: MachinePoolSpec,
    /// How the machines are. A number is absent while it is unknown.
    pub status: Option<MachinePoolStatus>,
}

crate::kind!(
    MachinePool,
    "cluster.x-k8s.io",
    "v1beta2",
    "machinepools",
    NamespaceResourceScope,
    [metadata, spec, status]
);

crate::has_conditions!(MachinePool);

/// Fields that only older clients read.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachinePoolDeprecatedStatus {
    /// What status said in the API version v1beta1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub v1beta1: Option<MachinePoolV1Beta1DeprecatedStatus>,
}

/// Machines that the infrastructure keeps as one group, such as an autoscaling group.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachinePoolSpec {
    /// The Cluster that they belong to, in the same namespace. It can't be changed.
    #[serde(rename = "clusterName")]
    pub cluster_name: String,
    /// Where the machines are made.
    #[serde(rename = "failureDomains", skip_serializing_if = "Vec::is_empty")]
    pub failure_domains: Vec<String>,
    /// How the infrastructure names the machines. Filled in by it.
    #[serde(rename = "providerIDList", skip_serializing_if = "Vec::is_empty")]
    pub provider_id_list: Vec<String>,
    /// How many machines. 1 unless set, or what the annotations of the autoscaler say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// What the machines look like.
    pub template: MachineTemplateSpec,
}

/// How the machines are. A number is absent while it is unknown.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachinePoolStatus {
    /// Machines that are Available.
    #[serde(rename = "availableReplicas", skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<i32>,
    /// How things are, one entry for each aspect, each with a status, a reason and a message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Fields that only older clients read. They go away with the API version named in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<MachinePoolDeprecatedStatus>,
    /// Steps that happen once.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub initialization: Option<MachineInitializationStatus>,
    /// The nodes of the machines.
    #[serde(rename = "nodeRefs", skip_serializing_if = "Vec::is_empty")]
    pub node_refs: Vec<ObjectReference>,
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
    /// Machines that exist, as the infrastructure says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
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
pub struct MachinePoolV1Beta1DeprecatedStatus {
    /// Nodes that were ready for minReadySeconds.
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
    /// Nodes that are ready.
    #[serde(rename = "readyReplicas", skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// Nodes that are missing, or not available.
    #[serde(rename = "unavailableReplicas", skip_serializing_if = "Option::is_none")]
    pub unavailable_replicas: Option<i32>,
}
