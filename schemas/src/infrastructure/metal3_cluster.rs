// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `infrastructure`: metal3 cluster.

use crate::infrastructure::InfrastructureInitializationStatus;
use crate::meta::ApiEndpoint;
use crate::meta::Condition;
use crate::meta::FailureDomain;
use crate::meta::ObjectMetaTemplate;
use crate::meta::V1Beta1Condition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// The infrastructure of a cluster on bare metal.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3Cluster {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// Desired state of the infrastructure of a cluster on bare metal.
    pub spec: Metal3ClusterSpec,
    /// Observed state of the infrastructure of a cluster on bare metal.
    pub status: Option<Metal3ClusterStatus>,
}

crate::kind!(
    Metal3Cluster,
    "infrastructure.cluster.x-k8s.io",
    "v1beta2",
    "metal3clusters",
    NamespaceResourceScope,
    [metadata, spec, status]
);

crate::has_conditions!(Metal3Cluster);

/// The template of the Metal3Clusters of a ClusterClass.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3ClusterTemplate {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// Desired state of a Metal3ClusterTemplate.
    pub spec: Metal3ClusterTemplateSpec,
}

crate::kind!(
    Metal3ClusterTemplate,
    "infrastructure.cluster.x-k8s.io",
    "v1beta2",
    "metal3clustertemplates",
    NamespaceResourceScope,
    [metadata, spec]
);

/// Fields of the API version v1beta1, for older clients.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3ClusterDeprecatedStatus {
    /// Status fields of the API version v1beta1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub v1beta1: Option<Metal3ClusterV1Beta1DeprecatedStatus>,
}

/// Desired state of the infrastructure of a cluster on bare metal.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3ClusterSpec {
    /// Whether a cloud provider in the workload cluster sets providerID of the nodes. If it is false, the
    /// Metal3Machine controller sets it. The default is false.
    #[serde(rename = "cloudProviderEnabled", skip_serializing_if = "Option::is_none")]
    pub cloud_provider_enabled: Option<bool>,
    /// Host and port of the API server. The user provides the address, for example a virtual IP address.
    /// The default port is 6443.
    #[serde(rename = "controlPlaneEndpoint", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub control_plane_endpoint: Option<ApiEndpoint>,
    /// Failure domains of the cluster. The controller copies them to the status.
    #[serde(rename = "failureDomains", skip_serializing_if = "Vec::is_empty")]
    pub failure_domains: Vec<FailureDomain>,
}

/// Observed state of the infrastructure of a cluster on bare metal.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3ClusterStatus {
    /// Observations of the state of the object. Each aspect has one entry with a status, a reason and a
    /// message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Fields of the API version v1beta1, for older clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<Metal3ClusterDeprecatedStatus>,
    /// Failure domains of the cluster, copied from the spec.
    #[serde(rename = "failureDomains", skip_serializing_if = "Vec::is_empty")]
    pub failure_domains: Vec<FailureDomain>,
    /// Progress of the initial provisioning. The values do not change afterwards.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub initialization: Option<InfrastructureInitializationStatus>,
    /// Time of the last change of the status.
    #[serde(rename = "lastUpdated", skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<String>,
}

/// A Metal3Cluster that is created from a template.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3ClusterTemplateResource {
    /// Labels and annotations of the created Metal3Cluster.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub metadata: Option<ObjectMetaTemplate>,
    /// Spec of the created Metal3Cluster.
    pub spec: Metal3ClusterSpec,
}

/// Desired state of a Metal3ClusterTemplate.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3ClusterTemplateSpec {
    /// Template of the created Metal3Clusters.
    pub template: Metal3ClusterTemplateResource,
}

/// Status fields of the API version v1beta1.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3ClusterV1Beta1DeprecatedStatus {
    /// Conditions in the format of v1beta1. New clients use status.conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<V1Beta1Condition>,
    /// Message of a failure that needs manual intervention. New clients use status.conditions.
    #[serde(rename = "failureMessage", skip_serializing_if = "Option::is_none")]
    pub failure_message: Option<String>,
    /// Reason, in one word, of a failure that needs manual intervention. New clients use status.conditions.
    #[serde(rename = "failureReason", skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
}
