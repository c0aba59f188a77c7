//! Lists what a bundle has.

use anyhow::{Context, Result};
use serde::Serialize;

use crate::descriptor::{Descriptor, IMAGE_NAME};
use crate::digest::Digest;
use crate::files::{self, FileKind};
use crate::format::Bundle;
use crate::images::Walk;

/// A container image or a file of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// `image`, or the name of a [`FileKind`].
    pub kind: &'static str,
    /// The name of the image, or the path of the file.
    pub name: String,
    /// The digest of the image's manifest or index, or of the file.
    pub digest: Digest,
    /// The size of the file, or of all blobs of the image together, in bytes. Images share blobs.
    pub size: u64,
    /// The platforms for which the bundle has the image.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub platforms: Vec<String>,
}

/// Returns everything that a bundle has, container images first.
///
/// # Errors
/// A manifest is damaged or missing.
pub fn list(bundle: &Bundle) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    for root in bundle.roots() {
        if let Some(name) = root.annotations.get(IMAGE_NAME) {
            items.push(image(bundle, root, name).with_context(|| name.clone())?);
        }
    }
    items.sort_by(|a, b| a.name.cmp(&b.name));
    for kind in FileKind::ALL {
        let item = |(name, file): (String, Descriptor)| Item {
            kind: kind.name(),
            name,
            digest: file.digest,
            size: file.size,
            platforms: Vec::new(),
        };
        items.extend(files::read(bundle, kind)?.into_iter().map(item));
    }
    Ok(items)
}

fn image(bundle: &Bundle, root: &Descriptor, name: &str) -> Result<Item> {
    let fetch = |descriptor: &Descriptor| bundle.document(descriptor);
    let mut walk = Walk::new(&fetch, None);
    walk.visit(root)?;
    let documents = walk.documents.values();
    let size = documents.clone().map(|read| read.descriptor.size).chain(walk.blobs.values().copied()).sum();
    let images = documents.filter(|read| read.descriptor.attests().is_none());
    let platforms = images.filter_map(|read| read.descriptor.platform.as_ref());
    let mut platforms: Vec<String> = platforms.map(|platform| platform.name()).collect();
    platforms.sort();
    platforms.dedup();
    Ok(Item { kind: "image", name: name.to_owned(), digest: root.digest, size, platforms })
}
