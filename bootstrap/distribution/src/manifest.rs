//! Finds the manifest of an image for this machine, or of an artifact.

use anyhow::{Context, Result, bail, ensure};
use bundle::{Descriptor, Digest, Document, IMAGE_INDEX, IMAGE_MANIFEST, Image, Platforms};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};

use crate::client::{Purpose, Session};
use crate::limits;

const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
const DOCKER_INDEX: &str = "application/vnd.docker.distribution.manifest.list.v2+json";

/// The files of an artifact.
#[derive(Debug, Clone)]
pub struct Artifact {
    /// The digest of its manifest.
    pub manifest: Digest,
    /// Its layers. The name of a file is in the annotation `org.opencontainers.image.title`.
    pub layers: Vec<Descriptor>,
}

impl Session<'_> {
    /// Finds an image for this machine, by its tag or its digest. Its config is verified, and its layers are not fetched.
    ///
    /// # Errors
    /// The registry does not have it, it is for other platforms only, or something is damaged.
    pub async fn image(&self, tag: Option<&str>, digest: Option<&Digest>) -> Result<Image> {
        let (descriptor, content, document) = self.manifest(tag, digest).await?;
        let config = document.config.context("it has no config")?;
        let read = self.small(&config).await.context("the config")?;
        Ok(Image {
            manifest: descriptor.digest,
            media_type: descriptor.media_type,
            document: content.to_vec(),
            id: config.digest,
            config: read.to_vec(),
            layers: document.layers,
        })
    }

    /// Finds an artifact by its tag.
    ///
    /// # Errors
    /// The registry does not have it, or it is damaged.
    pub async fn artifact(&self, tag: &str) -> Result<Artifact> {
        let (descriptor, _, document) = self.manifest(Some(tag), None).await?;
        Ok(Artifact { manifest: descriptor.digest, layers: document.layers })
    }

    /// Lists all tags of the repository.
    ///
    /// # Errors
    /// The registry does not have the repository, or lists too many.
    pub async fn tags(&self) -> Result<Vec<String>> {
        #[derive(serde::Deserialize)]
        struct List {
            #[serde(default)]
            tags: Option<Vec<String>>,
        }
        let (mut tags, mut path) = (Vec::new(), "tags/list".to_owned());
        for _ in 0..limits::PAGES {
            let (head, text) = self.read(Purpose::Resolve, &path, &HeaderMap::new(), limits::ANSWER).await?;
            let is_last = !head.contains_key(header::LINK);
            let list: List = serde_json::from_slice(&text).context("the list of tags")?;
            tags.extend(list.tags.unwrap_or_default());
            match tags.last() {
                Some(last) if !is_last => path = format!("tags/list?last={last}"),
                _ => return Ok(tags),
            }
        }
        bail!("the repository has more than {} pages of tags", limits::PAGES)
    }

    /// Returns the content of a small blob.
    ///
    /// # Errors
    /// It is larger than a manifest may be, damaged, or missing.
    pub async fn small(&self, blob: &Descriptor) -> Result<Bytes> {
        ensure!(blob.size <= limits::DOCUMENT, "{}: it has {} bytes", blob.digest, blob.size);
        let path = format!("blobs/{}", blob.digest);
        let (_, content) = self.read(Purpose::Pull, &path, &HeaderMap::new(), blob.size).await?;
        verify(&content, &blob.digest)?;
        Ok(content)
    }

    /// Finds the manifest for this machine, below the indexes that contain it.
    async fn manifest(
        &self,
        tag: Option<&str>,
        digest: Option<&Digest>,
    ) -> Result<(Descriptor, Bytes, Document)> {
        let (mut reference, mut purpose) = match (digest, tag) {
            (Some(digest), _) => (digest.to_string(), Purpose::Pull),
            (None, Some(tag)) => (tag.to_owned(), Purpose::Resolve),
            (None, None) => bail!("{} has neither a tag nor a digest", self.repository),
        };
        let mut wanted = digest.copied();
        for _ in 0..=limits::INDEX_DEPTH {
            let (descriptor, content) = self.document(purpose, &reference, wanted.as_ref()).await?;
            let document = Document::parse(&descriptor, &content).with_context(|| reference.clone())?;
            if !descriptor.is_index() {
                return Ok((descriptor, content, document));
            }
            let child = Platforms::own().choose(&document.manifests)?;
            wanted = Some(child.digest);
            (reference, purpose) = (child.digest.to_string(), Purpose::Pull);
        }
        bail!("indexes are nested more than {} deep", limits::INDEX_DEPTH)
    }

    async fn document(
        &self,
        purpose: Purpose,
        reference: &str,
        wanted: Option<&Digest>,
    ) -> Result<(Descriptor, Bytes)> {
        let mut headers = HeaderMap::new();
        for media_type in [IMAGE_INDEX, IMAGE_MANIFEST, DOCKER_INDEX, DOCKER_MANIFEST] {
            headers.append(header::ACCEPT, HeaderValue::from_static(media_type));
        }
        let path = format!("manifests/{reference}");
        let (head, content) = self.read(purpose, &path, &headers, limits::DOCUMENT).await?;
        let media_type = head.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = media_type.and_then(|text| text.split(';').next()).unwrap_or(IMAGE_MANIFEST);
        let media_type = media_type.trim().to_owned();
        if let Some(digest) = wanted {
            verify(&content, digest)?;
        }
        let descriptor = Descriptor {
            media_type,
            digest: Digest::of(&content),
            size: content.len() as u64,
            artifact_type: None,
            annotations: std::collections::BTreeMap::new(),
            platform: None,
        };
        ensure!(
            descriptor.is_document(),
            "{reference}: the media type {:?} is no manifest and no index that is supported",
            descriptor.media_type
        );
        Ok((descriptor, content))
    }
}

fn verify(content: &[u8], digest: &Digest) -> Result<()> {
    let found = Digest::of(content);
    ensure!(found == *digest, "{digest}: its content has the digest {found}: it is damaged");
    Ok(())
}
