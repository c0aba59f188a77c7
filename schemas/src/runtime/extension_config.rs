// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `runtime`: extension config.

use std::collections::BTreeMap;

use crate::meta::Condition;
use crate::meta::DeprecatedStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// Registers a runtime extension: a server that is asked at certain points in the life of clusters.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ExtensionConfig {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// Where an extension answers, and for what.
    pub spec: ExtensionConfigSpec,
    /// What the extension offers.
    pub status: Option<ExtensionConfigStatus>,
}

crate::kind!(
    ExtensionConfig,
    "runtime.cluster.x-k8s.io",
    "v1beta2",
    "extensionconfigs",
    ClusterResourceScope,
    [metadata, spec, status]
);

crate::has_conditions!(ExtensionConfig);

/// Where the extension answers. Either url or service.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClientConfig {
    /// Certificates in PEM form that its certificate must follow from. Can be filled in from a Secret, by
    /// annotation.
    #[serde(rename = "caBundle", skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<String>,
    /// A Service in this management cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceReference>,
    /// A URL with https.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// Where an extension answers, and for what.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ExtensionConfigSpec {
    /// Where the extension answers.
    #[serde(rename = "clientConfig")]
    pub client_config: ClientConfig,
    /// Selects the namespaces for whose objects it is called. All unless set.
    #[serde(rename = "namespaceSelector", skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
    /// Settings that go with each call.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// What the extension offers.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ExtensionConfigStatus {
    /// How things are, one entry for each aspect, each with a status, a reason and a message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Fields that only older clients read. They go away with the API version named in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<DeprecatedStatus>,
    /// What it offers, as it said when it was asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub handlers: Vec<ExtensionHandler>,
}

/// Something that the extension offers for a hook.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ExtensionHandler {
    /// What a call that fails means. Fail stops what called it; Ignore goes on. Fail unless set.
    #[serde(rename = "failurePolicy", skip_serializing_if = "Option::is_none")]
    pub failure_policy: Option<String>,
    /// Name of the handler, as HANDLER.EXTENSIONCONFIG.
    pub name: String,
    /// The hook that it answers.
    #[serde(rename = "requestHook")]
    pub request_hook: GroupVersionHook,
    /// How long a call may take. 10 unless set.
    #[serde(rename = "timeoutSeconds", skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<i32>,
}

/// A hook, in one version of its API.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct GroupVersionHook {
    /// API version of the hook, such as hooks.runtime.cluster.x-k8s.io/v1alpha1.
    #[serde(rename = "apiVersion")]
    pub api_version: String,
    /// Name of the hook, such as BeforeClusterUpgrade.
    pub hook: String,
}

/// A Service in this management cluster.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ServiceReference {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Path that all requests begin with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its port. 443 unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
}
