// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `bootstrap`: cluster configuration.

use std::collections::BTreeMap;

use crate::bootstrap::EnvVar;
use serde::{Deserialize, Serialize};

/// How kube-apiserver runs on control plane machines.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ApiServer {
    /// Further names and addresses that its serving certificate is good for.
    #[serde(rename = "certSANs", skip_serializing_if = "Vec::is_empty")]
    pub cert_sans: Vec<String>,
    /// Flags in addition to those that kubeadm sets. Each flag once.
    #[serde(rename = "extraArgs", skip_serializing_if = "Vec::is_empty")]
    pub extra_args: Vec<Arg>,
    /// Environment variables. Needs a Kubernetes version of at least 1.31.
    #[serde(rename = "extraEnvs", skip_serializing_if = "Vec::is_empty")]
    pub extra_envs: Vec<EnvVar>,
    /// Files and folders of the machine that it can see.
    #[serde(rename = "extraVolumes", skip_serializing_if = "Vec::is_empty")]
    pub extra_volumes: Vec<HostPathMount>,
}

/// One command line flag.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Arg {
    /// The flag without dashes, such as v or feature-gates.
    pub name: String,
    /// Its value. May be empty.
    pub value: String,
}

/// kubeadm's settings for the whole cluster. Name, networks, version and endpoint of the cluster are
/// filled in from the Cluster and the Machine.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClusterConfiguration {
    /// How kube-apiserver runs.
    #[serde(rename = "apiServer", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub api_server: Option<ApiServer>,
    /// Days that the certificate authorities made for the cluster are valid. 3650 unless set.
    #[serde(rename = "caCertificateValidityPeriodDays", skip_serializing_if = "Option::is_none")]
    pub ca_certificate_validity_period_days: Option<i32>,
    /// Days that certificates signed by kubeadm are valid. 365 unless set. Must be less than the days of
    /// the authorities.
    #[serde(rename = "certificateValidityPeriodDays", skip_serializing_if = "Option::is_none")]
    pub certificate_validity_period_days: Option<i32>,
    /// Where certificates are kept on machines. /etc/kubernetes/pki unless set.
    #[serde(rename = "certificatesDir", skip_serializing_if = "Option::is_none")]
    pub certificates_dir: Option<String>,
    /// Host, or host:port, at which the API server is reached. Unset: the endpoint of the Cluster.
    #[serde(rename = "controlPlaneEndpoint", skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<String>,
    /// How kube-controller-manager runs.
    #[serde(rename = "controllerManager", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub controller_manager: Option<ControlPlaneComponent>,
    /// Which CoreDNS runs.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub dns: Option<Dns>,
    /// Kind of the keys that are made for the cluster's certificates. RSA-2048 unless set.
    #[serde(rename = "encryptionAlgorithm", skip_serializing_if = "Option::is_none")]
    pub encryption_algorithm: Option<String>,
    /// Where the cluster's data are.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub etcd: Option<Etcd>,
    /// kubeadm's own feature gates, on or off.
    #[serde(rename = "featureGates", skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    /// Repository for the images of the control plane. registry.k8s.io unless set.
    #[serde(rename = "imageRepository", skip_serializing_if = "Option::is_none")]
    pub image_repository: Option<String>,
    /// How kube-scheduler runs.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub scheduler: Option<ControlPlaneComponent>,
}

/// How a component of the control plane runs on control plane machines.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ControlPlaneComponent {
    /// Flags in addition to those that kubeadm sets. Each flag once.
    #[serde(rename = "extraArgs", skip_serializing_if = "Vec::is_empty")]
    pub extra_args: Vec<Arg>,
    /// Environment variables. Needs a Kubernetes version of at least 1.31.
    #[serde(rename = "extraEnvs", skip_serializing_if = "Vec::is_empty")]
    pub extra_envs: Vec<EnvVar>,
    /// Files and folders of the machine that it can see.
    #[serde(rename = "extraVolumes", skip_serializing_if = "Vec::is_empty")]
    pub extra_volumes: Vec<HostPathMount>,
}

/// The image of CoreDNS. Unset parts are kubeadm's choice for the Kubernetes version.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Dns {
    /// Repository to pull from, such as registry.k8s.io/coredns. Unset: the imageRepository of the cluster.
    #[serde(rename = "imageRepository", skip_serializing_if = "Option::is_none")]
    pub image_repository: Option<String>,
    /// Tag of the image, such as v1.12.1. While it is set, Kubernetes upgrades do not choose another one.
    #[serde(rename = "imageTag", skip_serializing_if = "Option::is_none")]
    pub image_tag: Option<String>,
}

/// Where the cluster's data are. Either local or external; unset means local.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Etcd {
    /// An etcd outside the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalEtcd>,
    /// An etcd on the control plane machines.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub local: Option<LocalEtcd>,
}

/// An etcd that somebody else runs. The certificates to reach it must be Secrets before the cluster is
/// made.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ExternalEtcd {
    /// Path on the machine of the certificate authority for etcd's serving certificates.
    #[serde(rename = "caFile")]
    pub ca_file: String,
    /// Path on the machine of the client certificate that kube-apiserver shows.
    #[serde(rename = "certFile")]
    pub cert_file: String,
    /// URLs of etcd's members, such as https://10.0.0.5:2379.
    pub endpoints: Vec<String>,
    /// Path on the machine of the client certificate's key.
    #[serde(rename = "keyFile")]
    pub key_file: String,
}

/// A file or folder of the machine, mounted into a static pod.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct HostPathMount {
    /// Where it stands on the machine.
    #[serde(rename = "hostPath")]
    pub host_path: String,
    /// Where it appears in the pod.
    #[serde(rename = "mountPath")]
    pub mount_path: String,
    /// Name of the volume, unique in the pod.
    pub name: String,
    /// What is expected on the machine, as in the hostPath volume of a Pod: Directory, File,
    /// DirectoryOrCreate and so on. Unset: anything.
    #[serde(rename = "pathType", skip_serializing_if = "Option::is_none")]
    pub path_type: Option<String>,
    /// Whether the pod can only read it.
    #[serde(rename = "readOnly", skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
}

/// An etcd member in a static pod on each control plane machine.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct LocalEtcd {
    /// Where etcd keeps its data on the machine. kubeadm's choice is /var/lib/etcd.
    #[serde(rename = "dataDir", skip_serializing_if = "Option::is_none")]
    pub data_dir: Option<String>,
    /// Flags in addition to those that kubeadm sets. Each flag once.
    #[serde(rename = "extraArgs", skip_serializing_if = "Vec::is_empty")]
    pub extra_args: Vec<Arg>,
    /// Environment variables. Needs a Kubernetes version of at least 1.31.
    #[serde(rename = "extraEnvs", skip_serializing_if = "Vec::is_empty")]
    pub extra_envs: Vec<EnvVar>,
    /// Repository to pull etcd from. Unset: the imageRepository of the cluster.
    #[serde(rename = "imageRepository", skip_serializing_if = "Option::is_none")]
    pub image_repository: Option<String>,
    /// Tag of etcd's image. While it is set, Kubernetes upgrades do not choose another one.
    #[serde(rename = "imageTag", skip_serializing_if = "Option::is_none")]
    pub image_tag: Option<String>,
    /// Further names and addresses that the certificate for other members is good for.
    #[serde(rename = "peerCertSANs", skip_serializing_if = "Vec::is_empty")]
    pub peer_cert_sans: Vec<String>,
    /// Further names and addresses that the certificate for clients is good for.
    #[serde(rename = "serverCertSANs", skip_serializing_if = "Vec::is_empty")]
    pub server_cert_sans: Vec<String>,
}
