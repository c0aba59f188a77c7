//! The content of several bundles by name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;

use crate::descriptor::{Descriptor, IMAGE_NAME};
use crate::digest::{Digest, Hashing};
use crate::files::{self, FileKind};
use crate::format::Bundle;
use crate::images::{Walk, referrers};
use crate::limits;
use crate::reference::Reference;
use crate::section::Section;

/// The content of several bundles. If two of them have the same name, that of the later one counts.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// The repositories with their registries, for example `registry.k8s.io/pause`.
    pub repositories: BTreeMap<String, Repository>,
    /// The files of each kind by their names.
    files: BTreeMap<FileKind, BTreeMap<String, (PathBuf, Stored)>>,
}

/// The images of one repository.
#[derive(Debug, Default)]
pub struct Repository {
    /// The digests of the tags.
    pub tags: BTreeMap<String, Digest>,
    /// All manifests and indexes.
    pub manifests: BTreeMap<Digest, Arc<Manifest>>,
    /// All configs and layers.
    pub blobs: BTreeMap<Digest, Stored>,
}

/// A manifest or an index.
#[derive(Debug)]
pub struct Manifest {
    /// Its descriptor, with the annotations and the artifact type of the manifest itself.
    pub descriptor: Descriptor,
    /// The content of the manifest, a JSON document.
    pub content: Bytes,
    /// The manifest that it is about.
    pub subject: Option<Digest>,
    /// The manifests of images in an index.
    pub images: Vec<Digest>,
}

/// A blob in the file of a bundle.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The file of the bundle.
    pub file: Arc<File>,
    /// The offset of the first byte.
    pub offset: u64,
    /// The size in bytes.
    pub size: u64,
    /// The digest of the content.
    pub digest: Digest,
}

impl Stored {
    fn of(bundle: &Bundle, digest: &Digest) -> Result<Self> {
        let place = bundle.place(digest).with_context(|| format!("{digest} is missing"))?;
        Ok(Self { file: bundle.file().clone(), offset: place.offset, size: place.size, digest: *digest })
    }

    /// Returns a reader of the blob, whose digest is not checked.
    pub fn reader(&self) -> Section {
        Section::new(self.file.clone(), self.offset, self.size)
    }

    /// Returns the content.
    ///
    /// # Errors
    /// It has more than `most` bytes, is damaged, or cannot be read.
    pub fn content(&self, most: u64) -> Result<Vec<u8>> {
        ensure!(self.size <= most, "it has {} bytes, more than {most}", self.size);
        let mut reader = Hashing::new(self.reader());
        let mut content = Vec::new();
        reader.read_to_end(&mut content)?;
        ensure!(reader.end() == (self.digest, self.size), "it is damaged: its digest is not {}", self.digest);
        Ok(content)
    }
}

impl Catalogue {
    /// Reads the catalogue of `bundles`.
    ///
    /// # Errors
    /// A manifest is damaged or missing; the message names it.
    pub fn of(bundles: &[Bundle]) -> Result<Self> {
        let mut catalogue = Self::default();
        for bundle in bundles {
            catalogue
                .add(bundle)
                .with_context(|| format!("the bundle {} cannot be used", bundle.path().display()))?;
        }
        Ok(catalogue)
    }

    /// Returns the files of a kind, with their names and their bundles' paths.
    pub fn files(&self, kind: FileKind) -> impl Iterator<Item = (&String, &PathBuf, &Stored)> {
        let files = self.files.get(&kind).into_iter().flatten();
        files.map(|(title, (path, stored))| (title, path, stored))
    }

    /// Returns a disk image.
    pub fn disk(&self, name: &str) -> Option<&Stored> {
        self.files.get(&FileKind::Disk)?.get(name).map(|(_, stored)| stored)
    }

    /// Returns the manifests of Kubernetes objects in all bundles, sorted by path: their names for messages, and their texts.
    ///
    /// # Errors
    /// A file is too large, damaged, or not UTF-8.
    pub fn kubernetes_manifests(&self) -> Result<Vec<(String, String)>> {
        let read = |(title, path, stored): (&String, &PathBuf, &Stored)| {
            let name = format!("{}:{title}", path.display());
            let content = stored.content(limits::KUBERNETES_MANIFEST).with_context(|| name.clone())?;
            let text = String::from_utf8(content).with_context(|| name.clone())?;
            Ok((name, text))
        };
        self.files(FileKind::Manifests).map(read).collect()
    }

    fn add(&mut self, bundle: &Bundle) -> Result<()> {
        for kind in FileKind::ALL {
            for (title, file) in files::read(bundle, kind)? {
                let stored = Stored::of(bundle, &file.digest)?;
                self.files.entry(kind).or_default().insert(title, (bundle.path().to_owned(), stored));
            }
        }
        let mut nameless = Vec::new();
        let mut by_repository: BTreeMap<String, Vec<(&Descriptor, Option<String>)>> = BTreeMap::new();
        for root in bundle.roots() {
            match root.annotations.get(IMAGE_NAME) {
                Some(name) => {
                    let Reference { repository, tag } = name.parse()?;
                    by_repository.entry(repository).or_default().push((root, tag));
                }
                None if root.has_files() => {}
                None => nameless.push(root.clone()),
            }
        }
        let mut known: BTreeMap<Digest, Arc<Manifest>> = BTreeMap::new();
        for (name, roots) in by_repository {
            let fetch = |descriptor: &Descriptor| bundle.document(descriptor);
            let mut walk = Walk::new(&fetch, None);
            let repository = self.repositories.entry(name).or_default();
            for (root, tag) in roots {
                walk.visit(root)?;
                repository.tags.extend(tag.map(|tag| (tag, root.digest)));
            }
            referrers(&mut walk, &nameless)?;
            for digest in walk.blobs.keys() {
                repository.blobs.insert(*digest, Stored::of(bundle, digest)?);
            }
            let present: BTreeSet<Digest> = walk.documents.keys().copied().collect();
            for (digest, read) in walk.documents {
                let made = known.entry(digest).or_insert_with(|| Arc::new(Manifest::of(read, &present)));
                repository.manifests.insert(digest, made.clone());
            }
        }
        Ok(())
    }
}

impl Manifest {
    fn of(read: crate::images::Read, present: &BTreeSet<Digest>) -> Self {
        let crate::images::Read { mut descriptor, content, document } = read;
        descriptor.artifact_type = document.kind().map(str::to_owned);
        descriptor.annotations = document.annotations;
        descriptor.platform = None;
        let is_image = |child: &&Descriptor| child.attests().is_none() && present.contains(&child.digest);
        let images = document.manifests.iter().filter(is_image).map(|child| child.digest).collect();
        let subject = document.subject.map(|subject| subject.digest);
        Self { descriptor, content: content.into(), subject, images }
    }
}
