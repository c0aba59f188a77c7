// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `operator`: provider.

use std::collections::BTreeMap;

use crate::meta::Condition;
use crate::operator::ProviderDeployment;
use crate::operator::ProviderManager;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::{Deserialize, Serialize};

/// Changes of one more Deployment among the components.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ProviderAdditionalDeployment {
    /// Changes of the Deployment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment: Option<ProviderDeployment>,
    /// Settings of its manager.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manager: Option<ProviderManager>,
}

/// A change of components.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ProviderPatch {
    /// A merge patch, or a list of the operations of a JSON patch, in YAML or JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    /// The components that are changed. All unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<ProviderPatchSelector>,
}

/// Selects components. A field that is not set selects all.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ProviderPatchSelector {
    /// API group of the components.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Their kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// A selector of their labels in the text form, such as app=manager.
    #[serde(rename = "labelSelector", skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<String>,
    /// Their name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Their namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// API version of the components, without the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// A ConfigMap or a Secret.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ProviderReference {
    /// Its name.
    pub name: String,
    /// Its namespace. That of the provider unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// Where the files of a provider come from. Only one of url, oci and selector.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ProviderSource {
    /// An OCI artifact whose layers have the names of files, as REGISTRY/REPOSITORY or
    /// REGISTRY/REPOSITORY:VERSION.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oci: Option<String>,
    /// Selects ConfigMaps in the namespace of the provider, one for each version, with the keys metadata
    /// and components. The version is the label provider.cluster.x-k8s.io/version, or else the name of the
    /// ConfigMap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    /// The address of a repository in a form that clusterctl knows, such as
    /// https://github.com/OWNER/NAME/releases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// Which version of a provider is to be installed, and how.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ProviderSpec {
    /// Changes of Deployments by their names. The other settings do not apply to these Deployments.
    #[serde(rename = "additionalDeployments", skip_serializing_if = "BTreeMap::is_empty")]
    pub additional_deployments: BTreeMap<String, ProviderAdditionalDeployment>,
    /// A ConfigMap with the key manifests, whose objects are installed together with the components.
    #[serde(rename = "additionalManifests", skip_serializing_if = "Option::is_none")]
    pub additional_manifests: Option<ProviderReference>,
    /// A Secret with the variables of the components, such as credentials. A change of it is applied.
    #[serde(rename = "configSecret", skip_serializing_if = "Option::is_none")]
    pub config_secret: Option<ProviderReference>,
    /// Changes of the Deployments among the components.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment: Option<ProviderDeployment>,
    /// Where the files of the provider come from. Unless set, clusterctl's configuration or clusterctl
    /// itself must know a provider of this name.
    #[serde(rename = "fetchConfig", skip_serializing_if = "Option::is_none")]
    pub fetch_config: Option<ProviderSource>,
    /// Settings of the provider's manager, which become arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manager: Option<ProviderManager>,
    /// Merge patches in YAML, in their order. Each changes the components whose kind, and whose apiVersion,
    /// name and namespace if it has them, are the same.
    #[serde(rename = "manifestPatches", skip_serializing_if = "Vec::is_empty")]
    pub manifest_patches: Vec<String>,
    /// Changes of components, in their order. Cannot be used together with manifestPatches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<ProviderPatch>,
    /// The version, such as v1.14.0. Unless set, the installed one, or else the newest. A newer one
    /// upgrades the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// What is installed, and whether it runs.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ProviderStatus {
    /// How things are, one entry for each aspect, each with a status, a reason and a message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The contract of Cluster API that the installed version implements, such as v1beta2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    /// The version that is installed.
    #[serde(rename = "installedVersion", skip_serializing_if = "Option::is_none")]
    pub installed_version: Option<String>,
    /// The metadata.generation that is installed.
    #[serde(rename = "observedGeneration", skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}
