// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `bootstrap`: environment.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::{Deserialize, Serialize};

/// One key of a ConfigMap.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ConfigMapKeySelector {
    /// The key.
    pub key: String,
    /// Name of the ConfigMap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether the ConfigMap or the key may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// One environment variable of a static pod.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct EnvVar {
    /// Name of the variable.
    pub name: String,
    /// Its value. $(NAME) stands for the value of another variable, $$ for a dollar sign.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Where the value comes from, in place of value.
    #[serde(rename = "valueFrom", skip_serializing_if = "Option::is_none")]
    pub value_from: Option<EnvVarSource>,
}

/// Where the value of a variable comes from. Exactly one of the fields.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct EnvVarSource {
    /// From a ConfigMap.
    #[serde(rename = "configMapKeyRef", skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<ConfigMapKeySelector>,
    /// From a field of the pod.
    #[serde(rename = "fieldRef", skip_serializing_if = "Option::is_none")]
    pub field_ref: Option<ObjectFieldSelector>,
    /// From a file in a volume.
    #[serde(rename = "fileKeyRef", skip_serializing_if = "Option::is_none")]
    pub file_key_ref: Option<FileKeySelector>,
    /// From a request or limit of a container.
    #[serde(rename = "resourceFieldRef", skip_serializing_if = "Option::is_none")]
    pub resource_field_ref: Option<ResourceFieldSelector>,
    /// From a Secret.
    #[serde(rename = "secretKeyRef", skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<SecretKeySelector>,
}

/// One variable of a file of variables in a volume.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct FileKeySelector {
    /// Name of the variable in the file.
    pub key: String,
    /// Whether the file or the variable may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
    /// Path of the file in the volume, without .. in it.
    pub path: String,
    /// Name of the volume.
    #[serde(rename = "volumeName")]
    pub volume_name: String,
}

/// A field of the pod.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ObjectFieldSelector {
    /// Version of the API in which the path is meant. v1 unless set.
    #[serde(rename = "apiVersion", skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// Path of the field, such as metadata.name or status.podIP.
    #[serde(rename = "fieldPath")]
    pub field_path: String,
}

/// A request or limit of a container.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ResourceFieldSelector {
    /// The container. Unset: the one that has the variable.
    #[serde(rename = "containerName", skip_serializing_if = "Option::is_none")]
    pub container_name: Option<String>,
    /// Unit in which the number is given, such as 1Mi. 1 unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divisor: Option<IntOrString>,
    /// The request or limit, such as limits.cpu.
    pub resource: String,
}

/// One key of a Secret.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct SecretKeySelector {
    /// The key.
    pub key: String,
    /// Name of the Secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether the Secret or the key may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}
