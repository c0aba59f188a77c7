//! Every limit of a bundle and of the archives that are added to it.

/// Entries of an archive, including its folders.
pub const ENTRIES: usize = 100_000;
/// The longest path of an entry, in bytes.
pub const PATH: usize = 1024;
/// The largest number of parts of an entry's path.
pub const PATH_DEPTH: usize = 32;
/// The largest extension of an entry's header (PAX records, GNU long names), in bytes.
pub const EXTENSION: u64 = 64 << 10;
/// The largest manifest, index or configuration that is read, in bytes; that of other registries is the same.
pub const DOCUMENT: u64 = 4 << 20;
/// The largest `index.json` of a layout, and the largest table of a bundle, in bytes.
pub const TABLE: u64 = 64 << 20;
/// How deep indexes may contain other indexes.
pub const INDEX_DEPTH: usize = 4;
/// Descriptors in one manifest or index.
pub const DESCRIPTORS: usize = 10_000;
/// Bytes of all manifests and indexes of one bundle, which a server keeps in memory.
pub const DOCUMENTS: u64 = 256 << 20;
/// Bytes of a decompressed archive for each compressed byte. Layers with a few programs and many zeros have about 20.
pub const EXPANSION: u64 = 200;
/// Bytes that an archive may have decompressed, whatever its compressed size.
pub const EXPANSION_FREE: u64 = 64 << 20;
/// The largest manifest of Kubernetes objects that is applied from a bundle, in bytes.
pub const KUBERNETES_MANIFEST: u64 = 16 << 20;
