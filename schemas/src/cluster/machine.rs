// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `cluster`: machine.

use crate::meta::Condition;
use crate::meta::ContractVersionedObjectReference;
use crate::meta::FailureDeprecatedStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// A machine that is, or becomes, a node of a cluster. A Machine is never changed into another one: it
/// is replaced.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Machine {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// What machine is wanted.
    pub spec: MachineSpec,
    /// How the machine is.
    pub status: Option<MachineStatus>,
}

crate::kind!(
    Machine,
    "cluster.x-k8s.io",
    "v1beta2",
    "machines",
    NamespaceResourceScope,
    [metadata, spec, status]
);

crate::has_conditions!(Machine);

/// How a machine becomes a node. Either configRef or dataSecretName.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Bootstrap {
    /// The object that makes the bootstrap data, such as a KubeadmConfig; in templates its template.
    #[serde(rename = "configRef", skip_serializing_if = "Option::is_none")]
    pub config_ref: Option<ContractVersionedObjectReference>,
    /// Secret with the bootstrap data under its key value. Filled in from the configuration object.
    #[serde(rename = "dataSecretName", skip_serializing_if = "Option::is_none")]
    pub data_secret_name: Option<String>,
}

/// A condition that counts in addition to those that always do.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ConditionGate {
    /// Type of the condition. A missing condition counts as Unknown.
    #[serde(rename = "conditionType")]
    pub condition_type: String,
    /// Positive: True is good. Negative: False is good. Positive unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub polarity: Option<String>,
}

/// An address or a name of a machine.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineAddress {
    /// The address.
    pub address: String,
    /// Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.
    #[serde(rename = "type")]
    pub type_: String,
}

/// How long the steps of a machine's deletion may take. Afterwards the next step begins all the same.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineDeletionSpec {
    /// Trying to delete the Node object. 0 means for ever; 10 unless set.
    #[serde(rename = "nodeDeletionTimeoutSeconds", skip_serializing_if = "Option::is_none")]
    pub node_deletion_timeout_seconds: Option<i32>,
    /// Evicting the pods. 0, or unset, means for ever.
    #[serde(rename = "nodeDrainTimeoutSeconds", skip_serializing_if = "Option::is_none")]
    pub node_drain_timeout_seconds: Option<i32>,
    /// Waiting for volumes to be detached. 0, or unset, means for ever.
    #[serde(rename = "nodeVolumeDetachTimeoutSeconds", skip_serializing_if = "Option::is_none")]
    pub node_volume_detach_timeout_seconds: Option<i32>,
}

/// When the steps of the deletion began.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineDeletionStatus {
    /// When evicting pods began. From then on nodeDrainTimeoutSeconds counts.
    #[serde(rename = "nodeDrainStartTime", skip_serializing_if = "Option::is_none")]
    pub node_drain_start_time: Option<String>,
    /// When waiting for volumes began. From then on nodeVolumeDetachTimeoutSeconds counts.
    #[serde(rename = "waitForNodeVolumeDetachStartTime", skip_serializing_if = "Option::is_none")]
    pub wait_for_node_volume_detach_start_time: Option<String>,
    /// When waiting for the hooks before the drain began.
    #[serde(rename = "waitForPreDrainHookStartTime", skip_serializing_if = "Option::is_none")]
    pub wait_for_pre_drain_hook_start_time: Option<String>,
    /// When waiting for the hooks before the end of the machine began.
    #[serde(rename = "waitForPreTerminateHookStartTime", skip_serializing_if = "Option::is_none")]
    pub wait_for_pre_terminate_hook_start_time: Option<String>,
}

/// Steps that happen once and never go back.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineInitializationStatus {
    /// Whether the bootstrap data are there.
    #[serde(rename = "bootstrapDataSecretCreated", skip_serializing_if = "Option::is_none")]
    pub bootstrap_data_secret_created: Option<bool>,
    /// Whether the machine is there.
    #[serde(rename = "infrastructureProvisioned", skip_serializing_if = "Option::is_none")]
    pub infrastructure_provisioned: Option<bool>,
}

/// How machines are named. It counts for machines that are made from then on.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineNaming {
    /// Template of the names, which must contain {{ .random }}. It can use .cluster.name and the name of
    /// the owner: .machineSet.name or .kubeadmControlPlane.name. OWNER-RANDOM unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
}

/// A node of the workload cluster.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineNodeReference {
    /// Name of the Node.
    pub name: String,
}

/// What machine is wanted.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineSpec {
    /// How it becomes a node.
    pub bootstrap: Bootstrap,
    /// The Cluster that it belongs to, in the same namespace. It can't be changed.
    #[serde(rename = "clusterName")]
    pub cluster_name: String,
    /// How long the steps of its deletion may take.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub deletion: Option<MachineDeletionSpec>,
    /// Where it is made: the name of one of the Cluster's failure domains.
    #[serde(rename = "failureDomain", skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
    /// The object that makes the machine, such as a DevMachine; in templates its template.
    #[serde(rename = "infrastructureRef")]
    pub infrastructure_ref: ContractVersionedObjectReference,
    /// How long it must be Ready to be Available. 0 unless set.
    #[serde(rename = "minReadySeconds", skip_serializing_if = "Option::is_none")]
    pub min_ready_seconds: Option<i32>,
    /// How the infrastructure names the machine. The node has the same in its spec.providerID, which is how
    /// the two find each other.
    #[serde(rename = "providerID", skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// Further conditions of the Machine that must be good for it to be Ready.
    #[serde(rename = "readinessGates", skip_serializing_if = "Vec::is_empty")]
    pub readiness_gates: Vec<ConditionGate>,
    /// Taints that the node gets. Needs the feature MachineTaintPropagation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<MachineTaint>,
    /// Kubernetes version of the node, such as v1.35.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// How the machine is.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineStatus {
    /// Addresses and names of the machine, told by the infrastructure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<MachineAddress>,
    /// When the API server's certificate on the machine runs out. Only for control plane machines.
    #[serde(rename = "certificatesExpiryDate", skip_serializing_if = "Option::is_none")]
    pub certificates_expiry_date: Option<String>,
    /// How things are, one entry for each aspect, each with a status, a reason and a message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Progress of the deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion: Option<MachineDeletionStatus>,
    /// Fields that only older clients read. They go away with the API version named in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<FailureDeprecatedStatus>,
    /// Where the machine was made, told by the infrastructure.
    #[serde(rename = "failureDomain", skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
    /// Steps that happen once.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub initialization: Option<MachineInitializationStatus>,
    /// When the phase last changed.
    #[serde(rename = "lastUpdated", skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<String>,
    /// What the kubelet says about the system it runs on.
    #[serde(rename = "nodeInfo", skip_serializing_if = "Option::is_none")]
    pub node_info: Option<NodeSystemInfo>,
    /// The machine's node. Unset until it has joined.
    #[serde(rename = "nodeRef", skip_serializing_if = "Option::is_none")]
    pub node_ref: Option<MachineNodeReference>,
    /// The metadata.generation that the status describes. When it is lower than metadata.generation, the
    /// controller has not looked at the latest spec yet.
    #[serde(rename = "observedGeneration", skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// One word for where the machine is in its life, for people. Programs read conditions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
}

/// A taint that a machine's node gets.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct MachineTaint {
    /// NoSchedule, PreferNoSchedule or NoExecute.
    pub effect: String,
    /// Key of the taint. Keys of Kubernetes and of Cluster API themselves are refused.
    pub key: String,
    /// Always keeps the taint on the node as long as it is here. OnInitialization adds it once.
    pub propagation: String,
    /// Value of the taint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// Swap space of the node.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NodeSwapStatus {
    /// Its size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<i64>,
}

/// What the kubelet says about the system it runs on.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NodeSystemInfo {
    /// Processor architecture, such as amd64.
    pub architecture: String,
    /// Identifies the current boot.
    #[serde(rename = "bootID")]
    pub boot_id: String,
    /// Name and version of the container runtime, such as containerd://2.1.4.
    #[serde(rename = "containerRuntimeVersion")]
    pub container_runtime_version: String,
    /// Version of the kernel.
    #[serde(rename = "kernelVersion")]
    pub kernel_version: String,
    /// Version of kube-proxy. Kubernetes no longer fills it in.
    #[serde(rename = "kubeProxyVersion")]
    pub kube_proxy_version: String,
    /// Version of the kubelet.
    #[serde(rename = "kubeletVersion")]
    pub kubelet_version: String,
    /// Identifies the installation, from /etc/machine-id.
    #[serde(rename = "machineID")]
    pub machine_id: String,
    /// Operating system, such as linux.
    #[serde(rename = "operatingSystem")]
    pub operating_system: String,
    /// Name and version of the distribution.
    #[serde(rename = "osImage")]
    pub os_image: String,
    /// Its swap space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap: Option<NodeSwapStatus>,
    /// Identifies the hardware.
    #[serde(rename = "systemUUID")]
    pub system_uuid: String,
}
