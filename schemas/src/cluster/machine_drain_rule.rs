// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `cluster`: machine drain rule.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// Says what happens with pods when a machine is drained before it is deleted.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineDrainRule {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// What happens with which pods when machines are drained.
    pub spec: MachineDrainRuleSpec,
}

crate::kind!(
    MachineDrainRule,
    "cluster.x-k8s.io",
    "v1beta2",
    "machinedrainrules",
    NamespaceResourceScope,
    [metadata, spec]
);

/// What happens with the pods.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineDrainRuleDrain {
    /// Drain evicts them. Skip leaves them alone. WaitCompleted waits until they end by themselves.
    pub behavior: String,
    /// Pods with a lower order are evicted, and gone, before those with a higher one. 0 unless set; only
    /// with behavior Drain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<i32>,
}

/// Machines that the rule holds for. What is unset fits everything.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineDrainRuleMachineSelector {
    /// Selects Clusters by their labels.
    #[serde(rename = "clusterSelector", skip_serializing_if = "Option::is_none")]
    pub cluster_selector: Option<LabelSelector>,
    /// Selects Machines by their labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
}

/// Pods that the rule holds for. What is unset fits everything.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineDrainRulePodSelector {
    /// Selects namespaces of the workload cluster by their labels.
    #[serde(rename = "namespaceSelector", skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
    /// Selects pods by their labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
}

/// What happens with which pods when machines are drained.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineDrainRuleSpec {
    /// What happens with the pods.
    pub drain: MachineDrainRuleDrain,
    /// Machines that the rule holds for, by any of the entries. Unset: all of the namespace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<MachineDrainRuleMachineSelector>,
    /// Pods that the rule holds for, by any of the entries. Unset: all. The first rule that fits a pod, by
    /// name, counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<MachineDrainRulePodSelector>,
}
