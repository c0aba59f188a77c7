//! Finds all blobs that belong to an image.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};

use super::platforms::{self, Platforms};
use crate::descriptor::{Descriptor, Document, Platform};
use crate::digest::Digest;
use crate::limits;

/// The media types of the configs of container images.
const CONFIGS: [&str; 2] =
    ["application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json"];

/// A manifest or an index that was read.
pub(crate) struct Read {
    pub(crate) descriptor: Descriptor,
    pub(crate) content: Vec<u8>,
    pub(crate) document: Document,
}

/// The manifests, indexes and other blobs of images.
pub(crate) struct Walk<'a> {
    fetch: &'a dyn Fn(&Descriptor) -> Result<Option<Vec<u8>>>,
    /// The platforms of which an index must have one; without it the index must have any of its manifests.
    wanted: Option<&'a Platforms>,
    /// The manifests and indexes.
    pub(crate) documents: BTreeMap<Digest, Read>,
    /// The sizes of the other blobs: configs and layers.
    pub(crate) blobs: BTreeMap<Digest, u64>,
    bytes: u64,
}

impl<'a> Walk<'a> {
    /// Begins a walk. `fetch` returns the content that a descriptor is about, and `None` if it is missing.
    pub(crate) fn new(
        fetch: &'a dyn Fn(&Descriptor) -> Result<Option<Vec<u8>>>,
        wanted: Option<&'a Platforms>,
    ) -> Self {
        Self { fetch, wanted, documents: BTreeMap::new(), blobs: BTreeMap::new(), bytes: 0 }
    }

    /// Visits an image with everything that belongs to it.
    ///
    /// # Errors
    /// A manifest or index is missing, invalid, or does not match its descriptor; the message has its digest.
    pub(crate) fn visit(&mut self, root: &Descriptor) -> Result<()> {
        if !self.read(root, 0)? {
            bail!("{} is missing", root.digest);
        }
        Ok(())
    }

    /// Returns the platform that the config of a visited image names; `None` for indexes and artifacts.
    ///
    /// # Errors
    /// It is not wanted, or the config is missing or no JSON.
    pub(crate) fn platform(&self, root: &Descriptor) -> Result<Option<Platform>> {
        let config = self.documents.get(&root.digest).and_then(|read| read.document.config.as_ref());
        let Some(config) = config.filter(|config| CONFIGS.contains(&config.media_type.as_str())) else {
            return Ok(None);
        };
        let content =
            (self.fetch)(config)?.with_context(|| format!("{} is missing", config.digest.path()))?;
        let platform: Platform =
            serde_json::from_slice(&content).with_context(|| format!("the config {}", config.digest))?;
        ensure!(
            self.wanted.is_none_or(|wanted| wanted.has(&platform)),
            "it is for {}, and not for {}",
            platform.name(),
            self.wanted.map_or_else(String::new, Platforms::names)
        );
        Ok(Some(platform))
    }

    /// Returns whether the manifest or index was found.
    fn read(&mut self, descriptor: &Descriptor, depth: usize) -> Result<bool> {
        let digest = descriptor.digest;
        if self.documents.contains_key(&digest) {
            return Ok(true);
        }
        ensure!(
            depth <= limits::INDEX_DEPTH,
            "{digest}: indexes are nested more than {} deep",
            limits::INDEX_DEPTH
        );
        ensure!(
            descriptor.is_document(),
            "{digest}: the media type {:?} is no manifest and no index that is supported",
            descriptor.media_type
        );
        ensure!(
            descriptor.size <= limits::DOCUMENT,
            "{digest}: it has {} bytes, and a manifest has at most {}",
            descriptor.size,
            limits::DOCUMENT
        );
        let Some(content) = (self.fetch)(descriptor)? else { return Ok(false) };
        let found = Digest::of(&content);
        ensure!(found == digest, "{digest}: its content has the digest {found}: it is damaged");
        ensure!(
            content.len() as u64 == descriptor.size,
            "{digest}: it has {} bytes, and its descriptor says {}",
            content.len(),
            descriptor.size
        );
        self.bytes += descriptor.size;
        ensure!(self.bytes <= limits::DOCUMENTS, "all manifests have more than {} bytes", limits::DOCUMENTS);
        let document = Document::parse(descriptor, &content).with_context(|| digest.to_string())?;
        let children = document.manifests.clone();
        for blob in document.config.iter().chain(&document.layers) {
            self.blob(blob)?;
        }
        let read = Read { descriptor: descriptor.clone(), content, document };
        self.documents.insert(digest, read);
        if descriptor.is_index() {
            self.children(descriptor, &children, depth)?;
        }
        Ok(true)
    }

    fn blob(&mut self, blob: &Descriptor) -> Result<()> {
        let known = self.blobs.insert(blob.digest, blob.size);
        ensure!(
            known.is_none_or(|known| known == blob.size),
            "{}: one descriptor says that it has {} bytes, and another one {}",
            blob.digest,
            blob.size,
            known.unwrap_or_default()
        );
        Ok(())
    }

    /// Reads those manifests of an index that are wanted, with their attestations.
    fn children(&mut self, index: &Descriptor, children: &[Descriptor], depth: usize) -> Result<()> {
        let is_taken = |platform: Option<&Platform>| {
            platform.zip(self.wanted).is_none_or(|(platform, wanted)| wanted.has(platform))
        };
        let images = children.iter().filter(|child| child.attests().is_none());
        let images: Vec<&Descriptor> = images.filter(|child| is_taken(child.platform.as_ref())).collect();
        let digests: BTreeSet<Digest> = images.iter().map(|child| child.digest).collect();
        let is_about = |child: &&Descriptor| child.attests().is_some_and(|about| digests.contains(&about));
        let mut any = children.is_empty();
        for child in images {
            let is_there = self.read(child, depth + 1)?;
            ensure!(is_there || self.wanted.is_none(), "{} is missing", child.digest);
            any |= is_there;
        }
        for attestation in children.iter().filter(is_about) {
            // A tool may have left it out, and the image runs without it.
            self.read(attestation, depth + 1)?;
        }
        ensure!(
            any,
            "{}: there is no image for {}, but for {}",
            index.digest,
            self.wanted.map_or_else(|| "any platform".to_owned(), Platforms::names),
            platforms::names(children.iter().filter_map(|child| child.platform.as_ref()))
        );
        Ok(())
    }
}

/// Visits those `candidates` whose subject was visited, for example signatures, and the referrers of these. Returns their descriptors.
///
/// # Errors
/// A manifest is invalid, or does not match its descriptor.
pub(crate) fn referrers(walk: &mut Walk<'_>, candidates: &[Descriptor]) -> Result<Vec<Descriptor>> {
    let mut taken: Vec<Descriptor> = Vec::new();
    let mut left: Vec<(&Descriptor, Digest)> = Vec::new();
    for candidate in candidates {
        let mut alone = Walk::new(walk.fetch, None);
        if !candidate.is_index() && alone.read(candidate, 0)? {
            let read = alone.documents.remove(&candidate.digest);
            let subject = read.and_then(|read| read.document.subject);
            left.extend(subject.map(|subject| (candidate, subject.digest)));
        }
    }
    loop {
        let (now, later): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|(_, subject)| walk.documents.contains_key(subject));
        if now.is_empty() {
            return Ok(taken);
        }
        for (referrer, _) in now {
            walk.visit(referrer)?;
            taken.push(referrer.clone());
        }
        left = later;
    }
}
