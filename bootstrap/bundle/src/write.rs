//! Creates and extends bundles.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::descriptor::{Descriptor, IMAGE_NAME};
use crate::digest::Digest;
use crate::files::{self, FileKind, NewFile};
use crate::format::{Bundle, Writer};
use crate::images::{self, Platforms, Taken, Walk, referrers};
use crate::reference::Reference;
use crate::source::Source;

/// Container images that are added to a bundle.
#[derive(Clone, Debug)]
pub struct Container {
    /// The name for an image without one, or the repository for images that have only tags.
    pub name: Option<Reference>,
    /// An OCI image layout in a folder, or an archive of images.
    pub path: PathBuf,
    /// The platforms whose images are taken.
    pub platforms: Platforms,
}

/// What is added to a bundle.
#[derive(Clone, Debug, Default)]
pub struct Additions {
    /// The sources of container images.
    pub containers: Vec<Container>,
    /// The files that are not container images.
    pub files: Vec<NewFile>,
}

/// Writes a bundle with the content of `old` and the additions, which replace what has the same name. Blobs that nothing names any more are
/// left out. The file at `path` is replaced when the new one is complete and on the disk. Returns a line for each addition.
///
/// # Errors
/// An addition is damaged, hostile, incomplete or has no name (the message says which part of it), or a write fails. After an error, the
/// file at `path` is unchanged.
pub fn write(path: &Path, old: Option<&Bundle>, additions: &Additions) -> Result<Vec<String>> {
    let scratch = scratch(path);
    let mut writer = Writer::new(path)?;
    let mut lines = Vec::new();
    let artifacts = write_files(&mut writer, old, &additions.files, &mut lines)?;
    let mut roots: Vec<Descriptor> = old.map(|old| old.roots().to_vec()).unwrap_or_default();
    roots.retain(|root| !root.has_files());
    for container in &additions.containers {
        let source = Source::open(&container.path, scratch)?;
        let taken =
            images::take(&source, container.name.as_ref(), &container.platforms, images::Files::Refused)?;
        for (digest, (size, content)) in &taken.blobs {
            let blob = || format!("{}: {}", source.path().display(), digest.path());
            let reader = taken.reader(&source, content).with_context(blob)?;
            writer.blob(digest, *size, reader).with_context(blob)?;
        }
        lines.extend(taken.roots.iter().filter_map(line));
        merge(&mut roots, taken);
    }
    if let Some(old) = old {
        keep(&mut writer, old, &mut roots)?;
    }
    roots.extend(artifacts);
    writer.finish(&roots)?;
    Ok(lines)
}

/// Returns the folder for temporary files: that of the bundle, which has room for them.
pub(crate) fn scratch(bundle: &Path) -> &Path {
    bundle.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn line(root: &Descriptor) -> Option<String> {
    Some(format!("{} {}", root.annotations.get(IMAGE_NAME)?, root.digest))
}

/// Replaces images with the same name, and adds the others.
fn merge(roots: &mut Vec<Descriptor>, taken: Taken) {
    let key = |root: &Descriptor| match root.annotations.get(IMAGE_NAME) {
        Some(name) if name.contains(':') => name.clone(),
        // Without a tag, several images have the same name.
        name => format!("{}@{}", name.cloned().unwrap_or_default(), root.digest),
    };
    let new: BTreeSet<String> = taken.roots.iter().map(key).collect();
    roots.retain(|root| !new.contains(&key(root)));
    roots.extend(taken.roots);
}

/// Copies the blobs of those images of the old bundle that remain, and leaves out referrers of images that do not.
fn keep(writer: &mut Writer, old: &Bundle, roots: &mut Vec<Descriptor>) -> Result<()> {
    let fetch = |descriptor: &Descriptor| old.document(descriptor);
    let mut walk = Walk::new(&fetch, None);
    let is_old = |root: &&Descriptor| old.roots().contains(root);
    for root in roots.iter().filter(is_old).filter(|root| root.annotations.contains_key(IMAGE_NAME)) {
        walk.visit(root).with_context(|| old.path().display().to_string())?;
    }
    let nameless: Vec<Descriptor> =
        roots.iter().filter(|root| !root.annotations.contains_key(IMAGE_NAME)).cloned().collect();
    let kept = referrers(&mut walk, &nameless)?;
    roots.retain(|root| {
        root.annotations.contains_key(IMAGE_NAME) || kept.contains(root) || !old.roots().contains(root)
    });
    let mut all: BTreeMap<Digest, u64> = walk.blobs;
    all.extend(walk.documents.iter().map(|(digest, read)| (*digest, read.descriptor.size)));
    copy(writer, old, &all)
}

fn copy(writer: &mut Writer, old: &Bundle, blobs: &BTreeMap<Digest, u64>) -> Result<()> {
    for (digest, size) in blobs {
        let blob = || format!("{}: {}", old.path().display(), digest.path());
        let content = old.blob(digest).context("is missing").with_context(blob)?;
        writer.blob(digest, *size, content).with_context(blob)?;
    }
    Ok(())
}

/// Writes the files of the old bundle and the new ones, and returns the descriptors of their artifacts.
fn write_files(
    writer: &mut Writer,
    old: Option<&Bundle>,
    new: &[NewFile],
    lines: &mut Vec<String>,
) -> Result<Vec<Descriptor>> {
    let mut artifacts = Vec::new();
    for kind in FileKind::ALL {
        let mut files = old.map(|old| files::read(old, kind)).transpose()?.unwrap_or_default();
        let mut titles = BTreeSet::new();
        for file in new.iter().filter(|file| file.kind == kind) {
            let title = file.checked_title()?;
            ensure!(titles.insert(title.clone()), "two files would have the name {title}");
            files.remove(&title);
        }
        if let Some(old) = old {
            copy(writer, old, &files.values().map(|file| (file.digest, file.size)).collect())?;
        }
        for file in new.iter().filter(|file| file.kind == kind) {
            let title = file.checked_title()?;
            let cannot = || format!("cannot read {}", file.path.display());
            let content = ::files::open(&file.path).with_context(cannot)?;
            let found = content.metadata().with_context(cannot)?;
            let digest = writer.file(found.len(), content).with_context(cannot)?;
            lines.push(format!("{} {title} {digest}", kind.name()));
            files.insert(title.clone(), files::describe(kind, &title, digest, found.len()));
        }
        if !files.is_empty() {
            let (descriptor, blobs) = files::artifact(kind, &files)?;
            for blob in blobs {
                writer.blob(&Digest::of(&blob), blob.len() as u64, blob.as_slice())?;
            }
            artifacts.push(descriptor);
        }
    }
    Ok(artifacts)
}
