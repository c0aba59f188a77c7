// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `cluster`: cluster class.

use crate::cluster::ClusterClassPatch;
use crate::cluster::ClusterClassStatusVariable;
use crate::cluster::ClusterClassVariable;
use crate::cluster::ConditionGate;
use crate::cluster::HealthCheckRemediation;
use crate::cluster::HealthChecks;
use crate::cluster::MachineDeletionSpec;
use crate::cluster::MachineDeploymentHealthCheckRemediation;
use crate::cluster::MachineDeploymentRolloutStrategy;
use crate::cluster::MachineDeploymentTopologyDeletion;
use crate::cluster::MachineTaint;
use crate::meta::Condition;
use crate::meta::DeprecatedStatus;
use crate::meta::ObjectMetaTemplate;
use crate::meta::TemplateReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// A pattern from which Clusters are made: templates for infrastructure, control plane and workers,
/// with variables that each Cluster fills in.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClusterClass {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// A pattern for Clusters: templates, variables, and patches that bring the two together.
    pub spec: ClusterClassSpec,
    /// What the controller last saw of the ClusterClass.
    pub status: Option<ClusterClassStatus>,
}

crate::kind!(
    ClusterClass,
    "cluster.x-k8s.io",
    "v1beta2",
    "clusterclasses",
    NamespaceResourceScope,
    [metadata, spec, status]
);

crate::has_conditions!(ClusterClass);

/// How objects of the class are named.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClassNaming {
    /// Template of the names. It can use .cluster.name, .random, and for workers
    /// .machineDeployment.topologyName or .machinePool.topologyName. Names over 63 characters are cut and
    /// get a random end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
}

/// A template of a class.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClassTemplate {
    /// The template, in the namespace of the ClusterClass.
    #[serde(rename = "templateRef")]
    pub template_ref: TemplateReference,
}

/// A pattern for Clusters: templates, variables, and patches that bring the two together.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClusterClassSpec {
    /// Further conditions of a Cluster that must be good for it to be Available, unless the Cluster names
    /// its own.
    #[serde(rename = "availabilityGates", skip_serializing_if = "Vec::is_empty")]
    pub availability_gates: Vec<ConditionGate>,
    /// The control plane.
    #[serde(rename = "controlPlane")]
    pub control_plane: ControlPlaneClass,
    /// What a cluster shares.
    pub infrastructure: InfrastructureClass,
    /// Versions that Clusters can have, ascending. An upgrade over several minors goes through them.
    #[serde(rename = "kubernetesVersions", skip_serializing_if = "Vec::is_empty")]
    pub kubernetes_versions: Vec<String>,
    /// Changes to the templates, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<ClusterClassPatch>,
    /// How clusters are upgraded.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub upgrade: Option<ClusterClassUpgrade>,
    /// Values that each Cluster can set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<ClusterClassVariable>,
    /// Kinds of workers.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub workers: Option<WorkersClass>,
}

/// What the controller last saw of the ClusterClass.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClusterClassStatus {
    /// How things are, one entry for each aspect, each with a status, a reason and a message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Fields that only older clients read. They go away with the API version named in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<DeprecatedStatus>,
    /// The metadata.generation that the status describes. When it is lower than metadata.generation, the
    /// controller has not looked at the latest spec yet.
    #[serde(rename = "observedGeneration", skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// All variables that Clusters can set, those of external patches included.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<ClusterClassStatusVariable>,
}

/// How clusters of the class are upgraded.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClusterClassUpgrade {
    /// Let a runtime extension plan.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub external: Option<ClusterClassUpgradeExternal>,
}

/// Upgrades planned by a runtime extension.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClusterClassUpgradeExternal {
    /// Handler that says which versions an upgrade goes through.
    #[serde(rename = "generateUpgradePlanExtension", skip_serializing_if = "Option::is_none")]
    pub generate_upgrade_plan_extension: Option<String>,
}

/// The control plane of a class.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ControlPlaneClass {
    /// How long the steps of a machine's deletion may take.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub deletion: Option<MachineDeletionSpec>,
    /// When its machines count as unhealthy. Needs machineInfrastructure.
    #[serde(rename = "healthCheck", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub health_check: Option<ControlPlaneClassHealthCheck>,
    /// Template of the infrastructure of its machines, for control planes that consist of machines.
    #[serde(rename = "machineInfrastructure", skip_serializing_if = "Option::is_none")]
    pub machine_infrastructure: Option<ClassTemplate>,
    /// Labels and annotations of the control plane and, if it has any, its machines.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub metadata: Option<ObjectMetaTemplate>,
    /// How the control plane is named. CLUSTER-RANDOM unless set.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub naming: Option<ClassNaming>,
    /// Further conditions of its machines that must be good for them to be Ready.
    #[serde(rename = "readinessGates", skip_serializing_if = "Vec::is_empty")]
    pub readiness_gates: Vec<ConditionGate>,
    /// Taints that its nodes get. Needs the feature MachineTaintPropagation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<MachineTaint>,
    /// Template of the control plane, in the namespace of the ClusterClass.
    #[serde(rename = "templateRef")]
    pub template_ref: TemplateReference,
}

/// When a control plane machine counts as unhealthy, and what happens then.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ControlPlaneClassHealthCheck {
    /// When a machine counts as unhealthy.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub checks: Option<HealthChecks>,
    /// What happens then.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub remediation: Option<HealthCheckRemediation>,
}

/// What clusters of a class share.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct InfrastructureClass {
    /// How the infrastructure object is named. CLUSTER-RANDOM unless set.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub naming: Option<ClassNaming>,
    /// Its template, in the namespace of the ClusterClass.
    #[serde(rename = "templateRef")]
    pub template_ref: TemplateReference,
}

/// A kind of workers that Clusters of the class can have as MachineDeployments.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineDeploymentClass {
    /// Template of the bootstrap configuration of its machines.
    pub bootstrap: ClassTemplate,
    /// Name of the class, unique among the MachineDeployment classes.
    pub class: String,
    /// How long the steps of a machine's deletion may take, and which machines go first.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub deletion: Option<MachineDeploymentTopologyDeletion>,
    /// Where its machines are made.
    #[serde(rename = "failureDomain", skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
    /// When its machines count as unhealthy.
    #[serde(rename = "healthCheck", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub health_check: Option<MachineDeploymentClassHealthCheck>,
    /// Template of the infrastructure of its machines.
    pub infrastructure: ClassTemplate,
    /// Labels and annotations of the MachineDeployment and its machines.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub metadata: Option<ObjectMetaTemplate>,
    /// How long a machine must be Ready to be Available. 0 unless set.
    #[serde(rename = "minReadySeconds", skip_serializing_if = "Option::is_none")]
    pub min_ready_seconds: Option<i32>,
    /// How the MachineDeployment is named. CLUSTER-TOPOLOGYNAME-RANDOM unless set.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub naming: Option<ClassNaming>,
    /// Further conditions of its machines that must be good for them to be Ready.
    #[serde(rename = "readinessGates", skip_serializing_if = "Vec::is_empty")]
    pub readiness_gates: Vec<ConditionGate>,
    /// How its machines are replaced.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub rollout: Option<MachineDeploymentClassRollout>,
    /// Taints that its nodes get. Needs the feature MachineTaintPropagation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<MachineTaint>,
}

/// When a machine of the class counts as unhealthy, and what happens then.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineDeploymentClassHealthCheck {
    /// When a machine counts as unhealthy.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub checks: Option<HealthChecks>,
    /// What happens then.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub remediation: Option<MachineDeploymentHealthCheckRemediation>,
}

/// How machines of the class are replaced.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineDeploymentClassRollout {
    /// In which way.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub strategy: Option<MachineDeploymentRolloutStrategy>,
}

/// A kind of workers that Clusters of the class can have as MachinePools.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachinePoolClass {
    /// Template of the bootstrap configuration of its machines.
    pub bootstrap: ClassTemplate,
    /// Name of the class, unique among the MachinePool classes.
    pub class: String,
    /// How long the steps of a machine's deletion may take.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub deletion: Option<MachineDeletionSpec>,
    /// Where its machines are made.
    #[serde(rename = "failureDomains", skip_serializing_if = "Vec::is_empty")]
    pub failure_domains: Vec<String>,
    /// Template of the infrastructure of the pool.
    pub infrastructure: ClassTemplate,
    /// Labels and annotations of the MachinePool and its machines.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub metadata: Option<ObjectMetaTemplate>,
    /// How long a machine must be Ready to be Available. 0 unless set.
    #[serde(rename = "minReadySeconds", skip_serializing_if = "Option::is_none")]
    pub min_ready_seconds: Option<i32>,
    /// How the MachinePool is named. CLUSTER-TOPOLOGYNAME-RANDOM unless set.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub naming: Option<ClassNaming>,
    /// Not supported for MachinePools yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<MachineTaint>,
}

/// Kinds of workers that Clusters of the class can have.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct WorkersClass {
    /// As MachineDeployments.
    #[serde(rename = "machineDeployments", skip_serializing_if = "Vec::is_empty")]
    pub machine_deployments: Vec<MachineDeploymentClass>,
    /// As MachinePools.
    #[serde(rename = "machinePools", skip_serializing_if = "Vec::is_empty")]
    pub machine_pools: Vec<MachinePoolClass>,
}
