// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `metal3`: preprovisioning image.

use crate::meta::Condition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// The image that the host of the same name boots to be inspected and written to.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct PreprovisioningImage {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// What kind of image the host can boot.
    pub spec: PreprovisioningImageSpec,
    /// The image.
    pub status: Option<PreprovisioningImageStatus>,
}

crate::kind!(
    PreprovisioningImage,
    "metal3.io",
    "v1alpha1",
    "preprovisioningimages",
    NamespaceResourceScope,
    [metadata, spec, status]
);

crate::has_conditions!(PreprovisioningImage);

/// What kind of image the host can boot.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct PreprovisioningImageSpec {
    /// Formats that the host can boot: iso or initrd.
    #[serde(rename = "acceptFormats", skip_serializing_if = "Vec::is_empty")]
    pub accept_formats: Vec<String>,
    /// Architecture of the host's processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// Name of the Secret in the same namespace with the network configuration that goes into the image.
    #[serde(rename = "networkDataName", skip_serializing_if = "Option::is_none")]
    pub network_data_name: Option<String>,
}

/// The image.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct PreprovisioningImageStatus {
    /// The architecture that it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// How things are, one entry for each aspect, each with a status, a reason and a message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// More arguments for the kernel.
    #[serde(rename = "extraKernelParams", skip_serializing_if = "Option::is_none")]
    pub extra_kernel_params: Option<String>,
    /// Its format, iso or initrd.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Where it is.
    #[serde(rename = "imageUrl", skip_serializing_if = "Option::is_none")]
    pub image_url: Option<String>,
    /// Where the kernel is that goes with an initrd.
    #[serde(rename = "kernelUrl", skip_serializing_if = "Option::is_none")]
    pub kernel_url: Option<String>,
    /// The network configuration that is in it.
    #[serde(rename = "networkData", skip_serializing_if = "Option::is_none")]
    pub network_data: Option<SecretStatus>,
}

/// A Secret in one of its versions.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct SecretStatus {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its resourceVersion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}
