// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `infrastructure`: dev cluster.

use crate::meta::ApiEndpoint;
use crate::meta::Condition;
use crate::meta::DeprecatedStatus;
use crate::meta::FailureDomain;
use crate::meta::LocalObjectReference;
use crate::meta::ObjectMetaTemplate;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// Infrastructure of a cluster for development and tests.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DevCluster {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// Infrastructure of a cluster for development and tests.
    pub spec: DevClusterSpec,
    /// How the infrastructure is.
    pub status: Option<DevClusterStatus>,
}

crate::kind!(
    DevCluster,
    "infrastructure.cluster.x-k8s.io",
    "v1beta2",
    "devclusters",
    NamespaceResourceScope,
    [metadata, spec, status]
);

crate::has_conditions!(DevCluster);

/// What the DevClusters of a ClusterClass look like.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DevClusterTemplate {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// The template.
    pub spec: DevClusterTemplateSpec,
}

crate::kind!(
    DevClusterTemplate,
    "infrastructure.cluster.x-k8s.io",
    "v1beta2",
    "devclustertemplates",
    NamespaceResourceScope,
    [metadata, spec]
);

/// Where the cluster's machines are. Exactly one.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DevClusterBackend {
    /// In containers, with real nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docker: Option<DockerClusterBackend>,
    /// Simulated in this process.
    #[serde(rename = "inMemory", skip_serializing_if = "Option::is_none")]
    pub in_memory: Option<InMemoryClusterBackend>,
}

/// Infrastructure of a cluster for development and tests.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DevClusterSpec {
    /// Where the cluster's machines are.
    pub backend: DevClusterBackend,
    /// Where the API server is reached. Filled in by the controller; a port set here is kept.
    #[serde(rename = "controlPlaneEndpoint", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub control_plane_endpoint: Option<ApiEndpoint>,
}

/// How the infrastructure is.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DevClusterStatus {
    /// How things are, one entry for each aspect, each with a status, a reason and a message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Fields that only older clients read. They go away with the API version named in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<DeprecatedStatus>,
    /// Places that can fail without the others.
    #[serde(rename = "failureDomains", skip_serializing_if = "Vec::is_empty")]
    pub failure_domains: Vec<FailureDomain>,
    /// Steps that happen once.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub initialization: Option<InfrastructureInitializationStatus>,
}

/// The DevCluster that is made from the template.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DevClusterTemplateResource {
    /// Labels and annotations that it gets.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub metadata: Option<ObjectMetaTemplate>,
    /// Its spec.
    pub spec: DevClusterSpec,
}

/// The template.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DevClusterTemplateSpec {
    /// What each DevCluster made from it looks like.
    pub template: DevClusterTemplateResource,
}

/// Machines are containers on the machine of the server, or of Docker.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DockerClusterBackend {
    /// Failure domains to pretend to have.
    #[serde(rename = "failureDomains", skip_serializing_if = "Vec::is_empty")]
    pub failure_domains: Vec<FailureDomain>,
    /// The container that balances over the API servers. Only upstream's provider reads these fields.
    #[serde(rename = "loadBalancer", skip_serializing_if = "Option::is_none")]
    pub load_balancer: Option<DockerLoadBalancer>,
}

/// The container that balances over the API servers. Only upstream's provider reads these fields.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DockerLoadBalancer {
    /// ConfigMap with a template for the configuration of HAProxy under the key value, in place of the
    /// built-in one.
    #[serde(rename = "customHAProxyConfigTemplateRef", skip_serializing_if = "Option::is_none")]
    pub custom_ha_proxy_config_template_ref: Option<LocalObjectReference>,
    /// Repository of the load balancer's image.
    #[serde(rename = "imageRepository", skip_serializing_if = "Option::is_none")]
    pub image_repository: Option<String>,
    /// Tag of the load balancer's image.
    #[serde(rename = "imageTag", skip_serializing_if = "Option::is_none")]
    pub image_tag: Option<String>,
}

/// A simulated cluster: its API server is real, its machines are not.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct InMemoryClusterBackend {}

/// Steps that happen once and never go back.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct InfrastructureInitializationStatus {
    /// Whether the infrastructure is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisioned: Option<bool>,
}
