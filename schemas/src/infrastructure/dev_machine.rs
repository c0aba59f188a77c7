// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `infrastructure`: dev machine.

use std::collections::BTreeMap;

use crate::cluster::MachineAddress;
use crate::infrastructure::InfrastructureInitializationStatus;
use crate::infrastructure::Mount;
use crate::meta::Condition;
use crate::meta::DeprecatedStatus;
use crate::meta::ObjectMetaTemplate;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::{Deserialize, Serialize};

/// A machine for development and tests: simulated, or a container.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DevMachine {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// A machine for development and tests.
    pub spec: DevMachineSpec,
    /// How the machine is.
    pub status: Option<DevMachineStatus>,
}

crate::kind!(
    DevMachine,
    "infrastructure.cluster.x-k8s.io",
    "v1beta2",
    "devmachines",
    NamespaceResourceScope,
    [metadata, spec, status]
);

crate::has_conditions!(DevMachine);

/// What the DevMachines of a set of machines look like.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DevMachineTemplate {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// The template.
    pub spec: DevMachineTemplateSpec,
    /// What is known about machines of the template before there are any.
    pub status: Option<DevMachineTemplateStatus>,
}

crate::kind!(
    DevMachineTemplate,
    "infrastructure.cluster.x-k8s.io",
    "v1beta2",
    "devmachinetemplates",
    NamespaceResourceScope,
    [metadata, spec, status]
);

/// What the machine is. Exactly one.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DevMachineBackend {
    /// A container with a real node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docker: Option<DockerMachineBackend>,
    /// Simulated in this process.
    #[serde(rename = "inMemory", skip_serializing_if = "Option::is_none")]
    pub in_memory: Option<InMemoryMachineBackend>,
}

/// A machine for development and tests.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DevMachineSpec {
    /// What the machine is.
    pub backend: DevMachineBackend,
    /// How the infrastructure names the machine. Filled in by the controller.
    #[serde(rename = "providerID", skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
}

/// How the machine is.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DevMachineStatus {
    /// Addresses and names of the machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<MachineAddress>,
    /// How things are, one entry for each aspect, each with a status, a reason and a message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Fields that only older clients read. They go away with the API version named in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<DeprecatedStatus>,
    /// Where it was made.
    #[serde(rename = "failureDomain", skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
    /// Steps that happen once.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub initialization: Option<InfrastructureInitializationStatus>,
}

/// The DevMachine that is made from the template.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DevMachineTemplateResource {
    /// Labels and annotations that it gets.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub metadata: Option<ObjectMetaTemplate>,
    /// Its spec.
    pub spec: DevMachineSpec,
}

/// The template.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DevMachineTemplateSpec {
    /// What each DevMachine made from it looks like. Its spec can't be changed: make a new template and
    /// refer to it instead.
    pub template: DevMachineTemplateResource,
}

/// What is known about machines of the template before there are any.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DevMachineTemplateStatus {
    /// Processors, memory and so on of a machine, for autoscalers that scale from zero.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub capacity: BTreeMap<String, IntOrString>,
}

/// The machine is a container on the machine of the server, or of Docker.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DockerMachineBackend {
    /// How long the machine may take to become a node, such as 3m.
    #[serde(rename = "bootstrapTimeout", skip_serializing_if = "Option::is_none")]
    pub bootstrap_timeout: Option<String>,
    /// Image of the container. Unset: chosen by the Kubernetes version.
    #[serde(rename = "customImage", skip_serializing_if = "Option::is_none")]
    pub custom_image: Option<String>,
    /// Files and folders of the host that the container sees.
    #[serde(rename = "extraMounts", skip_serializing_if = "Vec::is_empty")]
    pub extra_mounts: Vec<Mount>,
    /// Images that are copied into the machine before it boots.
    #[serde(rename = "preLoadImages", skip_serializing_if = "Vec::is_empty")]
    pub pre_load_images: Vec<String>,
}

/// Something of a simulated machine that takes time to start.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct InMemoryComponent {
    /// How long it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisioning: Option<InMemoryProvisioning>,
}

/// A simulated machine. What is unset starts at once.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct InMemoryMachineBackend {
    /// Its API server, after the node. Only on control plane machines.
    #[serde(rename = "apiServer", skip_serializing_if = "Option::is_none")]
    pub api_server: Option<InMemoryComponent>,
    /// Its etcd member, after the node. Only on control plane machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etcd: Option<InMemoryComponent>,
    /// Its node, after the machine itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<InMemoryComponent>,
    /// The machine itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vm: Option<InMemoryComponent>,
}

/// How long a simulated thing takes to start.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct InMemoryProvisioning {
    /// The time, such as 10s.
    #[serde(rename = "startupDuration")]
    pub startup_duration: String,
    /// How much longer it may take at random, as a part of the duration: 0.2 is up to 20 % more.
    #[serde(rename = "startupJitter", skip_serializing_if = "Option::is_none")]
    pub startup_jitter: Option<String>,
}
