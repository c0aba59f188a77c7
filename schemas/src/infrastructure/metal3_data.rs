// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `infrastructure`: metal3 data.

use crate::infrastructure::Metal3ObjectReference;
use crate::metal3::SecretReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// A request for metadata and network data from a Metal3DataTemplate.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3DataClaim {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// Desired state of a Metal3DataClaim.
    pub spec: Metal3DataClaimSpec,
    /// Observed state of a Metal3DataClaim.
    pub status: Option<Metal3DataClaimStatus>,
}

crate::kind!(
    Metal3DataClaim,
    "infrastructure.cluster.x-k8s.io",
    "v1beta2",
    "metal3dataclaims",
    NamespaceResourceScope,
    [metadata, spec, status]
);

/// Metadata and network data that are rendered for one machine.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3Data {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// Desired state of a Metal3Data.
    pub spec: Metal3DataSpec,
    /// Observed state of a Metal3Data.
    pub status: Option<Metal3DataStatus>,
}

crate::kind!(
    Metal3Data,
    "infrastructure.cluster.x-k8s.io",
    "v1beta2",
    "metal3datas",
    NamespaceResourceScope,
    [metadata, spec, status]
);

/// Desired state of a Metal3DataClaim.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3DataClaimSpec {
    /// Metal3DataTemplate from which the data are rendered. It is immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<Metal3ObjectReference>,
}

/// Observed state of a Metal3DataClaim.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3DataClaimStatus {
    /// Message of the last error.
    #[serde(rename = "errorMessage", skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Metal3Data that was created for the claim.
    #[serde(rename = "renderedData", skip_serializing_if = "Option::is_none")]
    pub rendered_data: Option<Metal3ObjectReference>,
}

/// Desired state of a Metal3Data.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3DataSpec {
    /// Metal3DataClaim for which the data are rendered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<Metal3ObjectReference>,
    /// Index of the data, unique for each template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<i32>,
    /// Secret with the rendered metadata.
    #[serde(rename = "metaData", skip_serializing_if = "Option::is_none")]
    pub meta_data: Option<SecretReference>,
    /// Secret with the rendered network data.
    #[serde(rename = "networkData", skip_serializing_if = "Option::is_none")]
    pub network_data: Option<SecretReference>,
    /// Metal3DataTemplate from which the data are rendered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<Metal3ObjectReference>,
}

/// Observed state of a Metal3Data.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Metal3DataStatus {
    /// Message of the last error of rendering.
    #[serde(rename = "errorMessage", skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Whether the Secrets contain the rendered data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
}
