//! A bundle: one file with everything that a site without a network needs. It contains this program, boot files, disk images, container
//! images and manifests.
//!
//! The file is an uncompressed tar archive with an OCI image layout (`oci-layout`, `index.json`, `blobs/sha256/…`), so other tools read it
//! as an OCI archive. Container images are manifests with their names; all other files are layers of OCI artifacts, one artifact for each
//! [`FileKind`]. Each blob is stored once, uncompressed within the archive, so any range of it is a range of the file. A table of the offsets
//! is at the end, and the last block names it ([`Bundle::open`]): nothing else is read before a blob is asked for.
//!
//! - [`write()`] creates and extends bundles. Its sources are OCI image layouts and archives of images, which nobody has checked.
//! - [`Bundle`] reads a bundle, and [`verify`] checks all of it.
//! - [`Catalogue`] has the content of several bundles by name, for the registry and the image server.
//! - [`Archive`] has the images of one source by name, for a program that runs them.

mod boot;
mod catalogue;
mod descriptor;
mod digest;
mod files;
pub mod format;
mod images;
pub mod limits;
mod list;
pub mod names;
mod reference;
mod section;
mod source;
mod verify;
mod write;

pub use boot::BootFolder;
pub use catalogue::{Catalogue, Manifest, Repository, Stored};
pub use descriptor::{Descriptor, Document, IMAGE_INDEX, IMAGE_MANIFEST, Platform};
pub use digest::{Digest, Hashing};
pub use files::{FileKind, NewFile};
pub use format::Bundle;
pub use images::{Archive, Image, Platforms, architecture};
pub use list::{Item, list};
pub use reference::Reference;
pub use section::Section;
pub use verify::verify;
pub use write::{Additions, Container, write};
