// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `bootstrap`: discovery.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Finding the cluster with a token: the machine asks the API server for the cluster's data and trusts
/// it by hash.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct BootstrapTokenDiscovery {
    /// host:port of the API server. Unset: the endpoint of the Cluster.
    #[serde(rename = "apiServerEndpoint", skip_serializing_if = "Option::is_none")]
    pub api_server_endpoint: Option<String>,
    /// Hashes of public keys of certificate authorities to trust, as sha256:HEX. Unset: that of the
    /// cluster's own authority.
    #[serde(rename = "caCertHashes", skip_serializing_if = "Vec::is_empty")]
    pub ca_cert_hashes: Vec<String>,
    /// The token, as ID.SECRET. Unset: one is made, kept valid until the machine has joined, and left to
    /// expire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Trust whatever answers. Somebody between the machine and the API server could take its place.
    #[serde(rename = "unsafeSkipCAVerification", skip_serializing_if = "Option::is_none")]
    pub unsafe_skip_ca_verification: Option<bool>,
}

/// How a joining machine finds the cluster and what it trusts. Unset: with a token that is made for it.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Discovery {
    /// With a token.
    #[serde(rename = "bootstrapToken", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub bootstrap_token: Option<BootstrapTokenDiscovery>,
    /// With a kubeconfig.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FileDiscovery>,
    /// Token with which the kubelet asks for its certificate, as ID.SECRET. Unset: the token of
    /// bootstrapToken.
    #[serde(rename = "tlsBootstrapToken", skip_serializing_if = "Option::is_none")]
    pub tls_bootstrap_token: Option<String>,
}

/// Finding the cluster with a kubeconfig on the machine, for clouds where the machine proves by itself
/// who it is.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct FileDiscovery {
    /// Write this kubeconfig to the path. Unset: the file must be on the machine already.
    #[serde(rename = "kubeConfig", skip_serializing_if = "Option::is_none")]
    pub kube_config: Option<FileDiscoveryKubeConfig>,
    /// Path of the kubeconfig on the machine, or a URL to get it from.
    #[serde(rename = "kubeConfigPath")]
    pub kube_config_path: String,
}

/// What is written into the kubeconfig for joining. Addresses and trust are filled in from the Cluster
/// where they are unset.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct FileDiscoveryKubeConfig {
    /// The API server to join.
    #[serde(skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub cluster: Option<KubeConfigCluster>,
    /// Who the machine is while it joins.
    pub user: KubeConfigUser,
}

/// Credentials from a command that the client runs.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeConfigAuthExec {
    /// Version of the format that the command is asked with and answers in. client.authentication.k8s.io/v1
    /// unless set.
    #[serde(rename = "apiVersion", skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// Arguments of the command.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The command, which must be on the machine.
    pub command: String,
    /// Environment variables in addition to those of the client.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<KubeConfigAuthExecEnv>,
    /// Tell the command, in the variable KUBERNETES_EXEC_INFO, for which cluster it is asked.
    #[serde(rename = "provideClusterInfo", skip_serializing_if = "Option::is_none")]
    pub provide_cluster_info: Option<bool>,
}

/// One environment variable for the command.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeConfigAuthExecEnv {
    /// Name of the variable.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// Credentials from a plugin inside the client.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeConfigAuthProvider {
    /// Settings of the plugin.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, String>,
    /// Name of the plugin.
    pub name: String,
}

/// The API server that the machine talks to while it joins.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeConfigCluster {
    /// Certificates in PEM form to trust. Unset: the authority of the cluster.
    #[serde(rename = "certificateAuthorityData", skip_serializing_if = "Option::is_none")]
    pub certificate_authority_data: Option<String>,
    /// Do not check the server's certificate. Not for production.
    #[serde(rename = "insecureSkipTLSVerify", skip_serializing_if = "Option::is_none")]
    pub insecure_skip_tls_verify: Option<bool>,
    /// Proxy for requests to the API server, such as http://proxy:3128.
    #[serde(rename = "proxyURL", skip_serializing_if = "Option::is_none")]
    pub proxy_url: Option<String>,
    /// URL of the API server. Unset: https:// and the endpoint of the Cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Name to expect in the server's certificate. Unset: the host of the URL.
    #[serde(rename = "tlsServerName", skip_serializing_if = "Option::is_none")]
    pub tls_server_name: Option<String>,
}

/// Who the machine is while it joins. Either authProvider or exec.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct KubeConfigUser {
    /// Credentials from a plugin inside the client.
    #[serde(rename = "authProvider", skip_serializing_if = "Option::is_none")]
    pub auth_provider: Option<KubeConfigAuthProvider>,
    /// Credentials from a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exec: Option<KubeConfigAuthExec>,
}
