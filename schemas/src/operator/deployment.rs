// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `operator`: deployment.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Changes of a container.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ProviderContainer {
    /// Arguments by their names, such as --v. An argument that is there gets the value, and others are
    /// added. The settings of manager take precedence.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<String, String>,
    /// The program with its first arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Environment variables, each as in a Pod. One of the same name is replaced.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<Value>,
    /// The image.
    #[serde(rename = "imageUrl", skip_serializing_if = "Option::is_none")]
    pub image_url: Option<String>,
    /// Name of the container.
    pub name: String,
    /// CPU and memory, as in a Pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Value>,
}

/// Changes of a Deployment. A field that is not set leaves what the provider has.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ProviderDeployment {
    /// On which nodes the Pods run, as in a Pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Value>,
    /// Changes of containers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub containers: Vec<ProviderContainer>,
    /// Secrets with the credentials of registries.
    #[serde(rename = "imagePullSecrets", skip_serializing_if = "Vec::is_empty")]
    pub image_pull_secrets: Vec<ProviderLocalReference>,
    /// The labels of the nodes on which the Pods run.
    #[serde(rename = "nodeSelector", skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// The number of Pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i64>,
    /// The service account of the Pods.
    #[serde(rename = "serviceAccountName", skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    /// Taints of nodes that the Pods tolerate, each as in a Pod.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Value>,
}

/// An object in the same namespace.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ProviderLocalReference {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
