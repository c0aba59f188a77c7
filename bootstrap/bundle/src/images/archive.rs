//! The images of one folder or archive by their names, for a program that runs them.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::{Content, Files, Platforms, Taken};
use crate::descriptor::{Descriptor, Document, IMAGE_NAME};
use crate::digest::Digest;
use crate::limits;
use crate::reference::Reference;
use crate::source::Source;

/// An OCI image layout or an archive of images, which nobody has checked.
pub struct Archive {
    source: Source,
    taken: Taken,
    platforms: Platforms,
}

/// An image for this machine. Its config was checked against its digest, its layers were not.
#[derive(Clone, Debug)]
pub struct Image {
    /// The digest of the manifest.
    pub manifest: Digest,
    /// The media type of the manifest.
    pub media_type: String,
    /// The manifest itself, a JSON document.
    pub document: Vec<u8>,
    /// The digest of the config.
    pub id: Digest,
    /// The config, a JSON document.
    pub config: Vec<u8>,
    /// The layers, the lowest first.
    pub layers: Vec<Descriptor>,
}

impl Archive {
    /// Opens a folder, or an archive that may be compressed. A compressed archive is decompressed to a file without a name in `scratch`.
    ///
    /// # Errors
    /// It has no images, an image has no name or is for another platform than this machine, or a manifest is invalid or missing.
    pub fn open(path: &Path, scratch: &Path) -> Result<Self> {
        let (source, platforms) = (Source::open(path, scratch)?, Platforms::own());
        let taken = super::take(&source, None, &platforms, Files::PassedOver)?;
        Ok(Self { source, taken, platforms })
    }

    /// Returns the names of all images.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.taken.roots.iter().filter_map(|root| root.annotations.get(IMAGE_NAME)).map(String::as_str)
    }

    /// Returns the image with this name, and with this digest of its manifest or index if one is given.
    ///
    /// # Errors
    /// The manifest or the config is invalid.
    pub fn image(&self, name: &Reference, digest: Option<&Digest>) -> Result<Option<Image>> {
        for root in &self.taken.roots {
            let own = root.annotations.get(IMAGE_NAME).and_then(|own| own.parse::<Reference>().ok());
            let is_named = own.is_some_and(|own| match digest {
                Some(_) => own.repository == name.repository,
                None => own == *name,
            });
            let Some(manifest) = self.manifest(root).filter(|_| is_named) else { continue };
            if digest.is_none_or(|digest| *digest == root.digest || *digest == manifest.digest) {
                return self.read(&manifest).with_context(|| format!("the image {name}")).map(Some);
            }
        }
        Ok(None)
    }

    /// Returns a reader of a layer, whose digest is not checked.
    ///
    /// # Errors
    /// The layer is missing.
    pub fn layer(&self, layer: &Descriptor) -> Result<Box<dyn Read + '_>> {
        let (_, content) = self.taken.blobs.get(&layer.digest).context("the layer is missing")?;
        self.taken.reader(&self.source, content)
    }

    /// Returns the manifest for this machine: that of the descriptor itself, or the first in its index.
    fn manifest(&self, root: &Descriptor) -> Option<Descriptor> {
        if !root.is_index() {
            return Some(root.clone());
        }
        let index = Document::parse(root, self.bytes(root)?).ok()?;
        let is_wanted = |child: &&Descriptor| {
            child.attests().is_none()
                && child.platform.as_ref().is_none_or(|platform| self.platforms.has(platform))
        };
        index.manifests.iter().filter(is_wanted).find_map(|child| self.manifest(child))
    }

    /// Returns a manifest or index. Its digest was checked when the archive was opened.
    fn bytes(&self, descriptor: &Descriptor) -> Option<&[u8]> {
        match self.taken.blobs.get(&descriptor.digest)? {
            (_, Content::Bytes(bytes)) => Some(bytes),
            (_, Content::File(_)) => None,
        }
    }

    fn read(&self, manifest: &Descriptor) -> Result<Image> {
        let written = self.bytes(manifest).context("the manifest is missing")?;
        let document = Document::parse(manifest, written)?;
        let config = document.config.context("it has no config")?;
        let content = match self.bytes(&config) {
            Some(bytes) => bytes.to_vec(),
            None => self
                .source
                .small(&config.digest.path(), limits::DOCUMENT)?
                .context("the config is missing")?,
        };
        ensure!(Digest::of(&content) == config.digest, "{}: the config is damaged", config.digest);
        Ok(Image {
            manifest: manifest.digest,
            media_type: manifest.media_type.clone(),
            document: written.to_vec(),
            id: config.digest,
            config: content,
            layers: document.layers,
        })
    }
}
