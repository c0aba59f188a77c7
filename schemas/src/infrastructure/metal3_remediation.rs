// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `infrastructure`: metal3 remediation.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// The remediation of an unhealthy machine on bare metal.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3Remediation {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// Desired state of a Metal3Remediation.
    pub spec: Metal3RemediationSpec,
    /// Observed state of a Metal3Remediation.
    pub status: Option<Metal3RemediationStatus>,
}

crate::kind!(
    Metal3Remediation,
    "infrastructure.cluster.x-k8s.io",
    "v1beta2",
    "metal3remediations",
    NamespaceResourceScope,
    [metadata, spec, status]
);

/// The template of the Metal3Remediations that a MachineHealthCheck creates.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3RemediationTemplate {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// Desired state of a Metal3RemediationTemplate.
    pub spec: Metal3RemediationTemplateSpec,
    /// Observed state of a Metal3RemediationTemplate.
    pub status: Option<Metal3RemediationTemplateStatus>,
}

crate::kind!(
    Metal3RemediationTemplate,
    "infrastructure.cluster.x-k8s.io",
    "v1beta2",
    "metal3remediationtemplates",
    NamespaceResourceScope,
    [metadata, spec, status]
);

/// Desired state of a Metal3Remediation.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3RemediationSpec {
    /// Strategy of the remediation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<RemediationStrategy>,
}

/// Observed state of a Metal3Remediation.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3RemediationStatus {
    /// Time of the last remediation.
    #[serde(rename = "lastRemediated", skip_serializing_if = "Option::is_none")]
    pub last_remediated: Option<String>,
    /// Phase of the remediation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Number of retries so far.
    #[serde(rename = "retryCount", skip_serializing_if = "Option::is_none")]
    pub retry_count: Option<i32>,
}

/// A Metal3Remediation that is created from a template.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3RemediationTemplateResource {
    /// Spec of the created Metal3Remediation.
    pub spec: Metal3RemediationSpec,
}

/// Desired state of a Metal3RemediationTemplate.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3RemediationTemplateSpec {
    /// Template of the created Metal3Remediations.
    pub template: Metal3RemediationTemplateResource,
}

/// Observed state of a Metal3RemediationTemplate.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3RemediationTemplateStatus {
    /// Status of a Metal3Remediation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Metal3RemediationStatus>,
}

/// How an unhealthy machine is remediated.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct RemediationStrategy {
    /// Maximum number of retries.
    #[serde(rename = "retryLimit", skip_serializing_if = "Option::is_none")]
    pub retry_limit: Option<i32>,
    /// Time to wait after a remediation until the next retry, in seconds.
    #[serde(rename = "timeoutSeconds", skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<i32>,
    /// Type of the strategy. Reboot restarts the host.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
}
