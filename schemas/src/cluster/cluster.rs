// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `cluster`: cluster.

use crate::cluster::ConditionGate;
use crate::cluster::Topology;
use crate::meta::ApiEndpoint;
use crate::meta::Condition;
use crate::meta::ContractVersionedObjectReference;
use crate::meta::FailureDeprecatedStatus;
use crate::meta::FailureDomain;
use crate::meta::StatusVersion;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// A Kubernetes cluster: where its infrastructure and control plane are described, which networks it
/// has, and how it is.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Cluster {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// What cluster is wanted.
    pub spec: ClusterSpec,
    /// How the cluster is.
    pub status: Option<ClusterStatus>,
}

crate::kind!(
    Cluster,
    "cluster.x-k8s.io",
    "v1beta2",
    "clusters",
    NamespaceResourceScope,
    [metadata, (spec), status]
);

crate::has_conditions!(Cluster);

/// Steps that happen once and never go back.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClusterInitializationStatus {
    /// Whether the API server of the cluster has answered for the first time.
    #[serde(rename = "controlPlaneInitialized", skip_serializing_if = "Option::is_none")]
    pub control_plane_initialized: Option<bool>,
    /// Whether the shared infrastructure is there.
    #[serde(rename = "infrastructureProvisioned", skip_serializing_if = "Option::is_none")]
    pub infrastructure_provisioned: Option<bool>,
}

/// The networks inside the cluster.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClusterNetwork {
    /// Port of the API server on control plane machines. 6443 unless set. Not every infrastructure heeds
    /// it.
    #[serde(rename = "apiServerPort", skip_serializing_if = "Option::is_none")]
    pub api_server_port: Option<i32>,
    /// Where pods get their addresses from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<NetworkRanges>,
    /// Domain of the names of Services. cluster.local unless set.
    #[serde(rename = "serviceDomain", skip_serializing_if = "Option::is_none")]
    pub service_domain: Option<String>,
    /// Where Services get their addresses from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<NetworkRanges>,
}

/// How many machines a part of the cluster has. A number is absent while it is unknown.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClusterReplicasStatus {
    /// Machines that are Available.
    #[serde(rename = "availableReplicas", skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<i32>,
    /// Machines that are wanted.
    #[serde(rename = "desiredReplicas", skip_serializing_if = "Option::is_none")]
    pub desired_replicas: Option<i32>,
    /// Machines that are Ready.
    #[serde(rename = "readyReplicas", skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// Machines that exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Machines that are as the spec wants them.
    #[serde(rename = "upToDateReplicas", skip_serializing_if = "Option::is_none")]
    pub up_to_date_replicas: Option<i32>,
    /// Versions that a running upgrade still goes through. Only for Clusters made from a ClusterClass.
    #[serde(rename = "upgradePlan", skip_serializing_if = "Vec::is_empty")]
    pub upgrade_plan: Vec<UpgradePlanStep>,
    /// How many machines run which version, the lowest version first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<StatusVersion>,
}

/// What cluster is wanted.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClusterSpec {
    /// Further conditions of the Cluster that must be good for it to be Available. Unset: those of the
    /// ClusterClass.
    #[serde(rename = "availabilityGates", skip_serializing_if = "Vec::is_empty")]
    pub availability_gates: Vec<ConditionGate>,
    /// The networks inside the cluster.
    #[serde(rename = "clusterNetwork", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub cluster_network: Option<ClusterNetwork>,
    /// Where the API server is reached. Filled in by the infrastructure or the control plane unless it is
    /// set here.
    #[serde(rename = "controlPlaneEndpoint", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub control_plane_endpoint: Option<ApiEndpoint>,
    /// The object that runs the control plane, such as a KubeadmControlPlane. It can't be removed.
    #[serde(rename = "controlPlaneRef", skip_serializing_if = "Option::is_none")]
    pub control_plane_ref: Option<ContractVersionedObjectReference>,
    /// The object that makes what the cluster shares: networks, a load balancer. It can't be removed.
    #[serde(rename = "infrastructureRef", skip_serializing_if = "Option::is_none")]
    pub infrastructure_ref: Option<ContractVersionedObjectReference>,
    /// Stop all controllers from changing anything of this cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// Make the cluster from a ClusterClass. Then both references are filled in. It can't be removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
}

/// How the cluster is.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClusterStatus {
    /// How things are, one entry for each aspect, each with a status, a reason and a message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Machines of the control plane.
    #[serde(rename = "controlPlane", skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<ClusterReplicasStatus>,
    /// Fields that only older clients read. They go away with the API version named in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<FailureDeprecatedStatus>,
    /// Places that can fail without the others, over which control plane machines are spread. Told by the
    /// infrastructure.
    #[serde(rename = "failureDomains", skip_serializing_if = "Vec::is_empty")]
    pub failure_domains: Vec<FailureDomain>,
    /// Steps that happen once.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub initialization: Option<ClusterInitializationStatus>,
    /// The metadata.generation that the status describes. When it is lower than metadata.generation, the
    /// controller has not looked at the latest spec yet.
    #[serde(rename = "observedGeneration", skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// One word for where the cluster is in its life, for people. Programs read conditions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Machines that are no control plane machines, those of MachinePools included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<ClusterReplicasStatus>,
}

/// Address ranges.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NetworkRanges {
    /// The ranges, such as 192.168.0.0/16; one for each IP family.
    #[serde(rename = "cidrBlocks")]
    pub cidr_blocks: Vec<String>,
}

/// A version that an upgrade goes through.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct UpgradePlanStep {
    /// The version, such as v1.35.0.
    pub version: String,
}
