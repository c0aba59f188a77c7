//! Descriptors, manifests and indexes of the OCI image specification, and of Docker, whose manifests have the same form.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::limits;

/// The media type of an OCI image manifest.
pub const IMAGE_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The media type of an OCI image index.
pub const IMAGE_INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// The media type of an image manifest of Docker.
const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
/// The media type of an index of Docker.
const DOCKER_INDEX: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
/// The annotation with the full name of an image, which containerd reads.
pub(crate) const IMAGE_NAME: &str = "io.containerd.image.name";
/// The annotation with the tag or the full name of an image.
pub(crate) const REF_NAME: &str = "org.opencontainers.image.ref.name";
/// The annotation with the name of a file.
pub(crate) const TITLE: &str = "org.opencontainers.image.title";
/// The annotation of BuildKit with the digest of the manifest that an attestation in the same index is about.
const REFERENCE_DIGEST: &str = "vnd.docker.reference.digest";

/// How the types of the artifacts begin that have files of a bundle.
pub(crate) const ARTIFACTS: &str = "application/vnd.firstlight.bundle.";

/// A reference to a blob with its type and size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// The media type of the blob.
    #[serde(default)]
    pub media_type: String,
    /// The digest of the blob.
    pub digest: Digest,
    /// The size of the blob in bytes.
    pub size: u64,
    /// The type of an artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// Annotations, for example the name of an image.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// The platform that an image is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
}

impl Descriptor {
    /// Returns a descriptor of `content`.
    pub fn of(media_type: &str, content: &[u8]) -> Self {
        Self::new(media_type, Digest::of(content), content.len() as u64)
    }

    /// Returns a descriptor of a blob with this digest and size in bytes.
    pub fn new(media_type: &str, digest: Digest, size: u64) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest,
            size,
            artifact_type: None,
            annotations: BTreeMap::new(),
            platform: None,
        }
    }

    /// Returns whether the blob is a manifest or an index, which contain other descriptors.
    pub fn is_document(&self) -> bool {
        self.is_index() || [IMAGE_MANIFEST, DOCKER_MANIFEST].contains(&self.media_type.as_str())
    }

    /// Returns whether the blob is an artifact with files of a bundle, and no container image or referrer.
    pub(crate) fn has_files(&self) -> bool {
        self.artifact_type.as_deref().is_some_and(|kind| kind.starts_with(ARTIFACTS))
    }

    /// Returns whether the blob is an index.
    pub fn is_index(&self) -> bool {
        [IMAGE_INDEX, DOCKER_INDEX].contains(&self.media_type.as_str())
    }

    /// Returns the digest of the manifest in the same index that this attestation is about.
    pub(crate) fn attests(&self) -> Option<Digest> {
        self.annotations.get(REFERENCE_DIGEST)?.parse().ok()
    }
}

/// A platform, as images name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Platform {
    /// The architecture, for example `amd64`.
    pub architecture: String,
    /// The operating system, for example `linux`.
    pub os: String,
    /// The variant of the architecture, for example `v8`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

impl Platform {
    /// Returns the name of the platform, for example `linux/arm64/v8`.
    pub fn name(&self) -> String {
        match &self.variant {
            Some(variant) => format!("{}/{}/{variant}", self.os, self.architecture),
            None => format!("{}/{}", self.os, self.architecture),
        }
    }
}

/// A manifest or an index.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Document {
    pub(crate) media_type: Option<String>,
    pub(crate) artifact_type: Option<String>,
    /// The config of the image that a manifest is about.
    pub config: Option<Descriptor>,
    /// The layers of a manifest, the lowest first.
    pub layers: Vec<Descriptor>,
    /// The manifests of an index.
    pub manifests: Vec<Descriptor>,
    pub(crate) subject: Option<Descriptor>,
    pub(crate) annotations: BTreeMap<String, String>,
}

impl Document {
    /// Reads the manifest or index that `descriptor` is about.
    ///
    /// # Errors
    /// It is not JSON of this form, has another media type than the descriptor, or could be read as both a manifest and an index
    /// (CVE-2021-41190).
    pub fn parse(descriptor: &Descriptor, content: &[u8]) -> Result<Self> {
        let document: Self = serde_json::from_slice(content).context("it is no manifest and no index")?;
        if let Some(own) = &document.media_type {
            ensure!(
                *own == descriptor.media_type,
                "it says that its media type is {own:?}, and its descriptor says {:?}",
                descriptor.media_type
            );
        }
        let is_manifest = document.config.is_some() || !document.layers.is_empty();
        if descriptor.is_index() {
            ensure!(!is_manifest, "it is an index, and has the config or the layers of a manifest");
        } else {
            ensure!(document.manifests.is_empty(), "it is a manifest, and has the manifests of an index");
            ensure!(document.config.is_some(), "it is a manifest without a config");
        }
        let count = document.layers.len() + document.manifests.len();
        ensure!(count <= limits::DESCRIPTORS, "it has more than {} descriptors", limits::DESCRIPTORS);
        Ok(document)
    }

    /// Returns the type by which referrers are filtered: that of the artifact, or of the config.
    pub(crate) fn kind(&self) -> Option<&str> {
        let of_config = || self.config.as_ref().map(|config| config.media_type.as_str());
        self.artifact_type.as_deref().filter(|kind| !kind.is_empty()).or_else(of_config)
    }
}
