// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `metal3`: data image.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// An ISO image in the virtual drive of the host of the same name.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DataImage {
    /// Name, namespace, labels, owners and the rest that every object has.
    pub metadata: ObjectMeta,
    /// What is put into the drive.
    pub spec: DataImageSpec,
    /// What is in the drive.
    pub status: Option<DataImageStatus>,
}

crate::kind!(
    DataImage,
    "metal3.io",
    "v1alpha1",
    "dataimages",
    NamespaceResourceScope,
    [metadata, spec, status]
);

/// An image in the drive.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct AttachedImage {
    /// Where it is.
    pub url: String,
}

/// Why it can't be put into the drive.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DataImageError {
    /// How often in a row it went wrong.
    pub count: i64,
    /// What went wrong.
    pub message: String,
}

/// What is put into the drive.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DataImageSpec {
    /// Where the ISO image is. Empty takes out what is in the drive.
    pub url: String,
}

/// What is in the drive.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DataImageStatus {
    /// The image that is in it.
    #[serde(rename = "attachedImage", skip_serializing_if = "Option::is_none")]
    pub attached_image: Option<AttachedImage>,
    /// Why it is not the one that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<DataImageError>,
    /// When this was looked at last.
    #[serde(rename = "lastReconciled", skip_serializing_if = "Option::is_none")]
    pub last_reconciled: Option<String>,
}
