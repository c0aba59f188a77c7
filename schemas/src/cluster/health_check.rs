// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `cluster`: health check.

use crate::meta::TemplateReference;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::{Deserialize, Serialize};

/// What happens with an unhealthy Machine.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HealthCheckRemediation {
    /// Template of an object that is made for each unhealthy Machine, for a controller that repairs it.
    /// Unset: the Machine's owner deletes it and makes another.
    #[serde(rename = "templateRef", skip_serializing_if = "Option::is_none")]
    pub template_ref: Option<TemplateReference>,
    /// When unhealthy Machines are left alone.
    #[serde(rename = "triggerIf", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub trigger_if: Option<HealthCheckRemediationTriggerIf>,
}

/// When unhealthy Machines are left alone, since so many at once point at another cause. Always act
/// unless set.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HealthCheckRemediationTriggerIf {
    /// Act only while the number of unhealthy Machines is in this range, as \[3-5\]. Wins over
    /// unhealthyLessThanOrEqualTo.
    #[serde(rename = "unhealthyInRange", skip_serializing_if = "Option::is_none")]
    pub unhealthy_in_range: Option<String>,
    /// Act only while no more Machines are unhealthy: a number, or a percentage of those selected, rounded
    /// down.
    #[serde(rename = "unhealthyLessThanOrEqualTo", skip_serializing_if = "Option::is_none")]
    pub unhealthy_less_than_or_equal_to: Option<IntOrString>,
}

/// When a Machine counts as unhealthy.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HealthChecks {
    /// How long a machine may take to become a node. 600 unless set; 0 turns the check off, other values
    /// must be at least 30.
    #[serde(rename = "nodeStartupTimeoutSeconds", skip_serializing_if = "Option::is_none")]
    pub node_startup_timeout_seconds: Option<i32>,
    /// Conditions of the Machine, any of which makes it unhealthy.
    #[serde(rename = "unhealthyMachineConditions", skip_serializing_if = "Vec::is_empty")]
    pub unhealthy_machine_conditions: Vec<UnhealthyMachineCondition>,
    /// Conditions of the node, any of which makes the Machine unhealthy.
    #[serde(rename = "unhealthyNodeConditions", skip_serializing_if = "Vec::is_empty")]
    pub unhealthy_node_conditions: Vec<UnhealthyNodeCondition>,
}

/// A condition of the Machine that, when it lasts, makes it unhealthy.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct UnhealthyMachineCondition {
    /// The bad status.
    pub status: String,
    /// How long it may last.
    #[serde(rename = "timeoutSeconds")]
    pub timeout_seconds: i32,
    /// Type of the condition. Not one of those that follow from health checks, such as Ready.
    #[serde(rename = "type")]
    pub type_: String,
}

/// A condition of the node that, when it lasts, makes the Machine unhealthy.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct UnhealthyNodeCondition {
    /// The bad status.
    pub status: String,
    /// How long it may last.
    #[serde(rename = "timeoutSeconds")]
    pub timeout_seconds: i32,
    /// Type of the condition, such as Ready.
    #[serde(rename = "type")]
    pub type_: String,
}
