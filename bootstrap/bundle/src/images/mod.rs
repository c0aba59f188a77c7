//! Container images: which blobs belong to them, and which of those a bundle takes.

mod archive;
mod docker;
mod layout;
mod platforms;
mod walk;

use std::collections::BTreeMap;
use std::io;

use anyhow::{Context, Result};

use crate::descriptor::Descriptor;
use crate::digest::Digest;
use crate::reference::Reference;
use crate::source::Source;

pub use archive::{Archive, Image};
pub use platforms::{Platforms, architecture};
pub(crate) use walk::{Read, Walk, referrers};

/// The images of a source that a bundle takes.
pub(crate) struct Taken {
    /// The descriptors of the images with their names, and of their referrers.
    pub(crate) roots: Vec<Descriptor>,
    /// All blobs with their sizes and contents.
    pub(crate) blobs: BTreeMap<Digest, (u64, Content)>,
}

/// The content of a blob.
pub(crate) enum Content {
    /// The bytes themselves, for manifests.
    Bytes(Vec<u8>),
    /// The file of the source with this name.
    File(String),
}

impl Taken {
    /// Returns a reader of a blob.
    ///
    /// # Errors
    /// The source does not have it any more.
    pub(crate) fn reader<'a>(
        &'a self,
        source: &Source,
        content: &'a Content,
    ) -> Result<Box<dyn io::Read + 'a>> {
        match content {
            Content::Bytes(bytes) => Ok(Box::new(bytes.as_slice())),
            Content::File(name) => {
                let file = source.file(name)?.with_context(|| format!("{name} is missing"))?;
                Ok(Box::new(file))
            }
        }
    }
}

/// Whether files of a bundle are among the images of a source.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Files {
    /// They are refused, because they would be lost.
    Refused,
    /// They are passed over.
    PassedOver,
}

/// Finds the images of a source. `name` is the name that the user gave for them.
///
/// # Errors
/// The source has no images, an image has no name, an image is not there for a wanted platform, or a manifest is invalid or missing.
pub(crate) fn take(
    source: &Source,
    name: Option<&Reference>,
    platforms: &Platforms,
    files: Files,
) -> Result<Taken> {
    layout::take(source, name, platforms, files)
        .and_then(|taken| match taken {
            Some(taken) => Ok(taken),
            None => docker::take(source, name, platforms)?
                .context("it has neither index.json (an OCI image layout) nor manifest.json (docker save)"),
        })
        .with_context(|| format!("the images of {} cannot be taken", source.path().display()))
}
