// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `infrastructure`: dev machine pool.

use crate::cluster::MachineAddress;
use crate::infrastructure::InMemoryMachineBackend;
use crate::meta::Condition;
use crate::meta::ObjectMetaTemplate;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// A group of machines for development and tests.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DevMachinePool {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// A group of machines for development and tests.
    pub spec: DevMachinePoolSpec,
    /// How the machines are.
    pub status: Option<DevMachinePoolStatus>,
}

crate::kind!(
    DevMachinePool,
    "infrastructure.cluster.x-k8s.io",
    "v1beta2",
    "devmachinepools",
    NamespaceResourceScope,
    [metadata, spec, status]
);

crate::has_conditions!(DevMachinePool);

/// What the DevMachinePools of a ClusterClass look like.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DevMachinePoolTemplate {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// The template.
    pub spec: DevMachinePoolTemplateSpec,
}

crate::kind!(
    DevMachinePoolTemplate,
    "infrastructure.cluster.x-k8s.io",
    "v1beta2",
    "devmachinepooltemplates",
    NamespaceResourceScope,
    [metadata, spec]
);

/// Where the machines are.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DevMachinePoolBackend {
    /// In containers, with real nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docker: Option<DockerMachinePoolBackend>,
    /// Simulated in this process, by one DevMachine for each machine.
    #[serde(rename = "inMemory", skip_serializing_if = "Option::is_none")]
    pub in_memory: Option<InMemoryMachineBackend>,
}

/// One machine of a group.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DevMachinePoolInstance {
    /// Addresses and names of the machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<MachineAddress>,
    /// Name of the machine in the infrastructure.
    #[serde(rename = "instanceName", skip_serializing_if = "Option::is_none")]
    pub instance_name: Option<String>,
    /// How the infrastructure names it for Kubernetes.
    #[serde(rename = "providerID", skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// Whether it is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// Its Kubernetes version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// A group of machines for development and tests.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DevMachinePoolSpec {
    /// Where the machines are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<DevMachinePoolBackend>,
    /// How the infrastructure names the group.
    #[serde(rename = "providerID", skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// How it names the machines. Filled in by the controller.
    #[serde(rename = "providerIDList", skip_serializing_if = "Vec::is_empty")]
    pub provider_id_list: Vec<String>,
}

/// How the machines are.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DevMachinePoolStatus {
    /// How things are, one entry for each aspect, each with a status, a reason and a message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Kind of the object that there is for each machine.
    #[serde(rename = "infrastructureMachineKind", skip_serializing_if = "Option::is_none")]
    pub infrastructure_machine_kind: Option<String>,
    /// The machines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<DevMachinePoolInstance>,
    /// The metadata.generation that the status describes. When it is lower than metadata.generation, the
    /// controller has not looked at the latest spec yet.
    #[serde(rename = "observedGeneration", skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Whether the group is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// Machines that exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
}

/// The DevMachinePool that is made from the template.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DevMachinePoolTemplateResource {
    /// Labels and annotations that it gets.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub metadata: Option<ObjectMetaTemplate>,
    /// Its spec.
    pub spec: DevMachinePoolSpec,
}

/// The template.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DevMachinePoolTemplateSpec {
    /// What each DevMachinePool made from it looks like.
    pub template: DevMachinePoolTemplateResource,
}

/// Machines are containers on the machine of the server, or of Docker.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DockerMachinePoolBackend {
    /// Image of the containers. Unset: chosen by the Kubernetes version.
    #[serde(rename = "customImage", skip_serializing_if = "Option::is_none")]
    pub custom_image: Option<String>,
    /// Files and folders of the host that the containers see.
    #[serde(rename = "extraMounts", skip_serializing_if = "Vec::is_empty")]
    pub extra_mounts: Vec<Mount>,
    /// Images that are copied into machines before they boot.
    #[serde(rename = "preLoadImages", skip_serializing_if = "Vec::is_empty")]
    pub pre_load_images: Vec<String>,
}

/// A file or folder of the host that a container sees.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Mount {
    /// Where it appears in the container.
    #[serde(rename = "containerPath", skip_serializing_if = "Option::is_none")]
    pub container_path: Option<String>,
    /// Where it stands on the host.
    #[serde(rename = "hostPath", skip_serializing_if = "Option::is_none")]
    pub host_path: Option<String>,
    /// Whether the container can only read it.
    #[serde(rename = "readOnly", skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
}
