// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `cluster`: topology.

use crate::cluster::ConditionGate;
use crate::cluster::HealthCheckRemediation;
use crate::cluster::HealthCheckRemediationTriggerIf;
use crate::cluster::HealthChecks;
use crate::cluster::MachineDeletionSpec;
use crate::cluster::MachineDeploymentRollout;
use crate::cluster::MachineTaint;
use crate::meta::ObjectMetaTemplate;
use crate::meta::TemplateReference;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A ClusterClass.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClusterClassReference {
    /// Its name.
    pub name: String,
    /// Its namespace. Unset: that of the Cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// A value for a variable of the ClusterClass.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClusterVariable {
    /// Name of the variable.
    pub name: String,
    /// The value, in JSON, as the variable's schema wants it.
    pub value: Value,
}

/// The control plane of a Cluster made from a class.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ControlPlaneTopology {
    /// How long the steps of a machine's deletion may take.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub deletion: Option<MachineDeletionSpec>,
    /// Health checks of its machines.
    #[serde(rename = "healthCheck", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub health_check: Option<ControlPlaneTopologyHealthCheck>,
    /// Labels and annotations of the control plane and its machines. They win over those of the class.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub metadata: Option<ObjectMetaTemplate>,
    /// Further conditions of its machines that must be good for them to be Ready. They replace those of the
    /// class.
    #[serde(rename = "readinessGates", skip_serializing_if = "Vec::is_empty")]
    pub readiness_gates: Vec<ConditionGate>,
    /// How many machines. Unset: left to whoever else sets it on the control plane object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// When its machines are replaced.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub rollout: Option<ControlPlaneTopologyRollout>,
    /// Taints that its nodes get. They replace those of the class. Needs the feature
    /// MachineTaintPropagation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<MachineTaint>,
    /// Values that hold for the control plane only.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub variables: Option<TopologyVariables>,
}

/// Health checks of the control plane machines. What is set here replaces what the class says.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ControlPlaneTopologyHealthCheck {
    /// When a machine counts as unhealthy.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub checks: Option<HealthChecks>,
    /// Whether there are checks at all. Unset: when the class or this Cluster defines any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// What happens with unhealthy machines.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub remediation: Option<HealthCheckRemediation>,
}

/// When control plane machines are replaced by new ones.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ControlPlaneTopologyRollout {
    /// Replace all machines made before this time, once it has come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// What happens with an unhealthy Machine.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineDeploymentHealthCheckRemediation {
    /// How many may be replaced at once: a number, or a percentage of replicas rounded up. No limit unless
    /// set.
    #[serde(rename = "maxInFlight", skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<IntOrString>,
    /// Template of an object that is made for each unhealthy Machine, for a controller that repairs it.
    /// Unset: the Machine's owner deletes it and makes another.
    #[serde(rename = "templateRef", skip_serializing_if = "Option::is_none")]
    pub template_ref: Option<TemplateReference>,
    /// When unhealthy Machines are left alone.
    #[serde(rename = "triggerIf", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub trigger_if: Option<HealthCheckRemediationTriggerIf>,
}

/// Workers of a Cluster made from a class, as a MachineDeployment.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineDeploymentTopology {
    /// Which MachineDeployment class of the ClusterClass.
    pub class: String,
    /// How long the steps of a machine's deletion may take, and which machines go first.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub deletion: Option<MachineDeploymentTopologyDeletion>,
    /// Where the machines are made.
    #[serde(rename = "failureDomain", skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
    /// Health checks of the machines.
    #[serde(rename = "healthCheck", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub health_check: Option<MachineDeploymentTopologyHealthCheck>,
    /// Labels and annotations of the MachineDeployment and its machines. They win over those of the class.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub metadata: Option<ObjectMetaTemplate>,
    /// How long a machine must be Ready to be Available. 0 unless set.
    #[serde(rename = "minReadySeconds", skip_serializing_if = "Option::is_none")]
    pub min_ready_seconds: Option<i32>,
    /// Name of these workers in the cluster, unique among its MachineDeployments. The MachineDeployment's
    /// name is made from it.
    pub name: String,
    /// Further conditions of the machines that must be good for them to be Ready. They replace those of the
    /// class.
    #[serde(rename = "readinessGates", skip_serializing_if = "Vec::is_empty")]
    pub readiness_gates: Vec<ConditionGate>,
    /// How many machines. Unset: left to whoever else sets it on the MachineDeployment, such as an
    /// autoscaler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// When and how the machines are replaced.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub rollout: Option<MachineDeploymentRollout>,
    /// Taints that the nodes get. They replace those of the class. Needs the feature
    /// MachineTaintPropagation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<MachineTaint>,
    /// Values that hold for these workers only.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub variables: Option<TopologyVariables>,
}

/// How long the steps of a machine's deletion may take, and which machines go first.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineDeploymentTopologyDeletion {
    /// Trying to delete the Node object. 0 means for ever; 10 unless set.
    #[serde(rename = "nodeDeletionTimeoutSeconds", skip_serializing_if = "Option::is_none")]
    pub node_deletion_timeout_seconds: Option<i32>,
    /// Evicting the pods. 0, or unset, means for ever.
    #[serde(rename = "nodeDrainTimeoutSeconds", skip_serializing_if = "Option::is_none")]
    pub node_drain_timeout_seconds: Option<i32>,
    /// Waiting for volumes to be detached. 0, or unset, means for ever.
    #[serde(rename = "nodeVolumeDetachTimeoutSeconds", skip_serializing_if = "Option::is_none")]
    pub node_volume_detach_timeout_seconds: Option<i32>,
    /// Which machines go first when there are fewer: Random, Newest or Oldest. Random unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
}

/// Health checks of the machines. What is set here replaces what the class says.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineDeploymentTopologyHealthCheck {
    /// When a machine counts as unhealthy.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub checks: Option<HealthChecks>,
    /// Whether there are checks at all. Unset: when the class or this Cluster defines any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// What happens with unhealthy machines.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub remediation: Option<MachineDeploymentHealthCheckRemediation>,
}

/// Workers of a Cluster made from a class, as a MachinePool.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachinePoolTopology {
    /// Which MachinePool class of the ClusterClass.
    pub class: String,
    /// How long the steps of a machine's deletion may take.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub deletion: Option<MachineDeletionSpec>,
    /// Where the machines are made.
    #[serde(rename = "failureDomains", skip_serializing_if = "Vec::is_empty")]
    pub failure_domains: Vec<String>,
    /// Labels and annotations of the MachinePool and its machines. They win over those of the class.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub metadata: Option<ObjectMetaTemplate>,
    /// How long a machine must be Ready to be Available. 0 unless set.
    #[serde(rename = "minReadySeconds", skip_serializing_if = "Option::is_none")]
    pub min_ready_seconds: Option<i32>,
    /// Name of these workers in the cluster, unique among its MachinePools. The MachinePool's name is made
    /// from it.
    pub name: String,
    /// How many machines. Unset: left to whoever else sets it on the MachinePool, such as an autoscaler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Not supported for MachinePools yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<MachineTaint>,
    /// Values that hold for these workers only.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub variables: Option<TopologyVariables>,
}

/// The cluster as a ClusterClass with values filled in.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Topology {
    /// The ClusterClass. Another can be set if it is compatible.
    #[serde(rename = "classRef")]
    pub class_ref: ClusterClassReference,
    /// The control plane.
    #[serde(rename = "controlPlane", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub control_plane: Option<ControlPlaneTopology>,
    /// Values for the variables of the class.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<ClusterVariable>,
    /// Kubernetes version of the cluster, such as v1.35.0. Raising it upgrades the control plane first,
    /// then the workers.
    pub version: String,
    /// The workers.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub workers: Option<WorkersTopology>,
}

/// Values that hold for this part of the cluster only.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct TopologyVariables {
    /// The values. They win over those of the whole cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<ClusterVariable>,
}

/// Workers of a Cluster made from a class.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct WorkersTopology {
    /// As MachineDeployments.
    #[serde(rename = "machineDeployments", skip_serializing_if = "Vec::is_empty")]
    pub machine_deployments: Vec<MachineDeploymentTopology>,
    /// As MachinePools.
    #[serde(rename = "machinePools", skip_serializing_if = "Vec::is_empty")]
    pub machine_pools: Vec<MachinePoolTopology>,
}
