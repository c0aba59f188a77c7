//! Files that are no container images: layers of OCI artifacts, with their names in the annotation `org.opencontainers.image.title`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::descriptor::{ARTIFACTS, Descriptor, Document, IMAGE_MANIFEST, TITLE};
use crate::format::Bundle;
use crate::names;

/// The media type and content of a config that says nothing (OCI image specification, section "Guidance for an empty descriptor").
const EMPTY: (&str, &[u8]) = ("application/vnd.oci.empty.v1+json", b"{}");

/// A kind of files. A bundle has one artifact for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    /// firstlight itself, below the name of its architecture.
    Program,
    /// Boot files, with their paths in the folder of `firstlight metal assets`.
    Boot,
    /// Disk images, which are served below `/images/`.
    Disk,
    /// Manifests of Kubernetes objects.
    Manifests,
    /// The files of providers, as `LABEL/VERSION/FILE`.
    Providers,
}

impl FileKind {
    /// The kinds of files that a bundle can have.
    pub const ALL: [Self; 5] = [Self::Program, Self::Boot, Self::Disk, Self::Manifests, Self::Providers];

    /// Returns the name of the kind, as `list` prints it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Boot => "boot",
            Self::Disk => "disk",
            Self::Manifests => "manifests",
            Self::Providers => "providers",
        }
    }

    /// Returns the type of the artifact.
    pub(crate) fn artifact_type(self) -> String {
        format!("{ARTIFACTS}{}.v1", self.name())
    }

    fn media_type(self) -> &'static str {
        match self {
            Self::Manifests | Self::Providers => "application/yaml",
            _ => "application/octet-stream",
        }
    }
}

/// A file that is added to a bundle.
#[derive(Clone, Debug)]
pub struct NewFile {
    /// The kind of the file.
    pub kind: FileKind,
    /// The relative path under which the bundle has it. A file with the same kind and path is replaced.
    pub title: String,
    /// The file itself.
    pub path: PathBuf,
}

impl NewFile {
    /// Returns the title, if it is a relative path that stays in its folder.
    pub(crate) fn checked_title(&self) -> Result<String> {
        let title = names::relative(&self.title).with_context(|| self.title.clone())?;
        ensure!(!title.is_empty(), "{} has no name", self.path.display());
        Ok(title)
    }
}

/// The files of one kind by title.
pub(crate) type Files = BTreeMap<String, Descriptor>;

/// Returns the files of one kind in a bundle.
///
/// # Errors
/// The artifact is damaged, or the name of a file leads out of its folder.
pub(crate) fn read(bundle: &Bundle, kind: FileKind) -> Result<Files> {
    let wanted = kind.artifact_type();
    let mut files = Files::new();
    for root in bundle.roots().iter().filter(|root| root.artifact_type.as_deref() == Some(&wanted)) {
        let content = bundle.document(root)?.with_context(|| format!("{} is missing", root.digest))?;
        let document = Document::parse(root, &content).with_context(|| root.digest.to_string())?;
        for layer in document.layers {
            let title = layer.annotations.get(TITLE).cloned().unwrap_or_default();
            let path = names::relative(&title).with_context(|| format!("the file {title:?}"))?;
            ensure!(!path.is_empty() && path == title, "a file has the name {title:?}");
            let place = bundle.place(&layer.digest).with_context(|| format!("{title} is missing"))?;
            ensure!(place.size == layer.size, "{title}: its descriptor has another size than its blob");
            ensure!(files.insert(title.clone(), layer).is_none(), "two files have the name {title}");
        }
    }
    Ok(files)
}

/// Returns the descriptor of a file.
pub(crate) fn describe(kind: FileKind, title: &str, digest: crate::Digest, size: u64) -> Descriptor {
    let annotations = BTreeMap::from([(TITLE.to_owned(), title.to_owned())]);
    Descriptor { annotations, ..Descriptor::new(kind.media_type(), digest, size) }
}

/// Returns the manifest of the artifact for `files`, with all blobs that it needs in addition to them.
pub(crate) fn artifact(kind: FileKind, files: &Files) -> Result<(Descriptor, [Vec<u8>; 2])> {
    let config = Descriptor::of(EMPTY.0, EMPTY.1);
    let layers: Vec<&Descriptor> = files.values().collect();
    let document = json!({
        "schemaVersion": 2,
        "mediaType": IMAGE_MANIFEST,
        "artifactType": kind.artifact_type(),
        "config": config,
        "layers": layers,
    });
    let document = serde_json::to_vec(&document)?;
    let mut descriptor = Descriptor::of(IMAGE_MANIFEST, &document);
    descriptor.artifact_type = Some(kind.artifact_type());
    Ok((descriptor, [EMPTY.1.to_vec(), document]))
}
