// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `cluster`: machine health check.

use crate::cluster::HealthCheckRemediation;
use crate::cluster::HealthChecks;
use crate::meta::Condition;
use crate::meta::DeprecatedStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// Watches Machines and has those that stay unhealthy replaced.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineHealthCheck {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// Which Machines are watched, and what makes them unhealthy.
    pub spec: MachineHealthCheckSpec,
    /// What the last check found.
    pub status: Option<MachineHealthCheckStatus>,
}

crate::kind!(
    MachineHealthCheck,
    "cluster.x-k8s.io",
    "v1beta2",
    "machinehealthchecks",
    NamespaceResourceScope,
    [metadata, spec, status]
);

crate::has_conditions!(MachineHealthCheck);

/// Which Machines are watched, and what makes them unhealthy.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineHealthCheckSpec {
    /// When a Machine counts as unhealthy.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub checks: Option<HealthChecks>,
    /// The Cluster whose Machines are watched, in the same namespace. It can't be changed.
    #[serde(rename = "clusterName")]
    pub cluster_name: String,
    /// What happens with unhealthy Machines.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub remediation: Option<HealthCheckRemediation>,
    /// Selects the Machines by their labels. It can't be empty.
    pub selector: LabelSelector,
}

/// What the last check found.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineHealthCheckStatus {
    /// How things are, one entry for each aspect, each with a status, a reason and a message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Machines that are healthy.
    #[serde(rename = "currentHealthy", skip_serializing_if = "Option::is_none")]
    pub current_healthy: Option<i32>,
    /// Fields that only older clients read. They go away with the API version named in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<DeprecatedStatus>,
    /// Machines that are watched.
    #[serde(rename = "expectedMachines", skip_serializing_if = "Option::is_none")]
    pub expected_machines: Option<i32>,
    /// The metadata.generation that the status describes. When it is lower than metadata.generation, the
    /// controller has not looked at the latest spec yet.
    #[serde(rename = "observedGeneration", skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// How many more Machines may become unhealthy before nothing is done any more.
    #[serde(rename = "remediationsAllowed", skip_serializing_if = "Option::is_none")]
    pub remediations_allowed: Option<i32>,
    /// Names of the Machines that are watched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
}
