// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `bootstrap`: node configuration.

use crate::bootstrap::Arg;
use crate::bootstrap::Discovery;
use serde::{Deserialize, Serialize};

/// A token with which machines can join for some time.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct BootstrapToken {
    /// What the token is for, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// When the token stops working. Not together with ttlSeconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// Groups that its bearer belongs to. system:bootstrappers:kubeadm:default-node-token unless set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// The token, as ID.SECRET.
    pub token: String,
    /// How long the token works. 0 means for ever; one day unless set. Not together with expires.
    #[serde(rename = "ttlSeconds", skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<i32>,
    /// What it may be used for: signing and authentication unless set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub usages: Vec<String>,
}

/// kubeadm's settings for the machine that initialises the cluster.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct InitConfiguration {
    /// Tokens to make at once. Machines of the cluster do not need them: a token is made for each.
    #[serde(rename = "bootstrapTokens", skip_serializing_if = "Vec::is_empty")]
    pub bootstrap_tokens: Vec<BootstrapToken>,
    /// Where kube-apiserver of this machine is reached.
    #[serde(rename = "localAPIEndpoint", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub local_api_endpoint: Option<LocalApiEndpoint>,
    /// How the machine introduces itself as a node.
    #[serde(rename = "nodeRegistration", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub node_registration: Option<NodeRegistrationOptions>,
    /// Changes to the manifests that kubeadm writes.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub patches: Option<Patches>,
    /// Phases of kubeadm init to leave out, such as addon/kube-proxy.
    #[serde(rename = "skipPhases", skip_serializing_if = "Vec::is_empty")]
    pub skip_phases: Vec<String>,
    /// How long kubeadm waits.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub timeouts: Option<Timeouts>,
}

/// kubeadm's settings for machines that join the cluster.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct JoinConfiguration {
    /// Path on the machine of the cluster's certificate authority. /etc/kubernetes/pki/ca.crt unless set.
    #[serde(rename = "caCertPath", skip_serializing_if = "Option::is_none")]
    pub ca_cert_path: Option<String>,
    /// Present for control plane machines. It is set by the controller, and refused for workers.
    #[serde(rename = "controlPlane", skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<JoinControlPlane>,
    /// How the machine finds the cluster.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub discovery: Option<Discovery>,
    /// How the machine introduces itself as a node.
    #[serde(rename = "nodeRegistration", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub node_registration: Option<NodeRegistrationOptions>,
    /// Changes to the manifests that kubeadm writes.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub patches: Option<Patches>,
    /// Phases of kubeadm join to leave out.
    #[serde(rename = "skipPhases", skip_serializing_if = "Vec::is_empty")]
    pub skip_phases: Vec<String>,
    /// How long kubeadm waits.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub timeouts: Option<Timeouts>,
}

/// A control plane machine, as opposed to a worker.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct JoinControlPlane {
    /// Where kube-apiserver of this machine is reached.
    #[serde(rename = "localAPIEndpoint", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub local_api_endpoint: Option<LocalApiEndpoint>,
}

/// Where kube-apiserver of this machine is reached, as opposed to the endpoint of the cluster.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct LocalApiEndpoint {
    /// Its IP address. Unset: that of the default network interface.
    #[serde(rename = "advertiseAddress", skip_serializing_if = "Option::is_none")]
    pub advertise_address: Option<String>,
    /// Its port. 6443 unless set.
    #[serde(rename = "bindPort", skip_serializing_if = "Option::is_none")]
    pub bind_port: Option<i32>,
}

/// How the machine introduces itself as a node.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct NodeRegistrationOptions {
    /// Socket of the container runtime, such as unix:///var/run/containerd/containerd.sock. Unset: kubeadm
    /// looks for one.
    #[serde(rename = "criSocket", skip_serializing_if = "Option::is_none")]
    pub cri_socket: Option<String>,
    /// Checks of kubeadm whose failure is only warned of; all for every check.
    #[serde(rename = "ignorePreflightErrors", skip_serializing_if = "Vec::is_empty")]
    pub ignore_preflight_errors: Vec<String>,
    /// When kubeadm pulls images. IfNotPresent unless set.
    #[serde(rename = "imagePullPolicy", skip_serializing_if = "Option::is_none")]
    pub image_pull_policy: Option<String>,
    /// Pull one image after the other. True unless set.
    #[serde(rename = "imagePullSerial", skip_serializing_if = "Option::is_none")]
    pub image_pull_serial: Option<bool>,
    /// Flags for the kubelet in addition to those that kubeadm sets. Each flag once.
    #[serde(rename = "kubeletExtraArgs", skip_serializing_if = "Vec::is_empty")]
    pub kubelet_extra_args: Vec<Arg>,
    /// Name of the node. Unset: the host name of the machine. Templates of the bootstrap data are possible,
    /// such as {{ ds.meta_data.local_hostname }}.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Taints of the node. Unset: control plane nodes get node-role.kubernetes.io/control-plane:NoSchedule.
    /// An empty list means no taints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taints: Option<Vec<Taint>>,
}

/// Changes to the manifests that kubeadm writes.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Patches {
    /// Folder on the machine with files named TARGET\[SUFFIX\]\[+PATCHTYPE\].EXTENSION, such as
    /// kube-apiserver0+merge.yaml. Write them with files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
}

/// A taint that the node has from its first moment.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Taint {
    /// NoSchedule, PreferNoSchedule or NoExecute.
    pub effect: String,
    /// Key of the taint.
    pub key: String,
    /// When it was added. The API server sets it.
    #[serde(rename = "timeAdded", skip_serializing_if = "Option::is_none")]
    pub time_added: Option<String>,
    /// Value of the taint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// How long kubeadm waits for things.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Timeouts {
    /// For a component of the control plane to be healthy. 240 unless set. Must be the same for init and
    /// join.
    #[serde(rename = "controlPlaneComponentHealthCheckSeconds", skip_serializing_if = "Option::is_none")]
    pub control_plane_component_health_check_seconds: Option<i32>,
    /// For the cluster to be found when joining. 300 unless set.
    #[serde(rename = "discoverySeconds", skip_serializing_if = "Option::is_none")]
    pub discovery_seconds: Option<i32>,
    /// For a request to etcd to succeed. 120 unless set.
    #[serde(rename = "etcdAPICallSeconds", skip_serializing_if = "Option::is_none")]
    pub etcd_api_call_seconds: Option<i32>,
    /// For the kubelet to be healthy. 240 unless set.
    #[serde(rename = "kubeletHealthCheckSeconds", skip_serializing_if = "Option::is_none")]
    pub kubelet_health_check_seconds: Option<i32>,
    /// For a request to the API server to succeed. 60 unless set.
    #[serde(rename = "kubernetesAPICallSeconds", skip_serializing_if = "Option::is_none")]
    pub kubernetes_api_call_seconds: Option<i32>,
    /// For the kubelet to get its certificate. 300 unless set.
    #[serde(rename = "tlsBootstrapSeconds", skip_serializing_if = "Option::is_none")]
    pub tls_bootstrap_seconds: Option<i32>,
}
