//! The file format: a tar archive whose last entry says where its table of offsets is.
//!
//! ```text
//! oci-layout
//! blobs/sha256/…        any number of blobs, each once
//! index.json            the OCI index of all container images and artifacts
//! firstlight/table      the offset and size of each blob, JSON
//! firstlight/trailer    one block: the offsets, sizes and digests of index.json and of the table
//! two blocks of zeros   the end of every tar archive
//! ```

mod read;
mod table;
mod writer;

pub use read::Bundle;
pub use table::{Place, Table, Trailer, check};
pub(crate) use writer::Writer;

pub(crate) use read::{LAYOUT, LAYOUT_CONTENT, whole};

/// The size of a tar archive's blocks in bytes.
pub(crate) const BLOCK: u64 = 512;
/// The names of the entries.
pub(crate) const INDEX: &str = "index.json";
pub(crate) const TABLE: &str = "firstlight/table";
pub(crate) const TRAILER: &str = "firstlight/trailer";
