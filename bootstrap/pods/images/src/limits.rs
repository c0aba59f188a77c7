//! Every limit of the images that are unpacked.

/// Files, folders and links in all layers of an image.
pub const ENTRIES: usize = 300_000;
/// Bytes of all uncompressed layers of an image.
pub const BYTES: u64 = 16 << 30;
/// Uncompressed bytes for each compressed byte of a layer. Layers with a few programs and many zeros have about 20.
pub const EXPANSION: u64 = 200;
/// Bytes that a layer may have uncompressed, whatever its compressed size.
pub const EXPANSION_FREE: u64 = 64 << 20;
/// The longest path of an entry in bytes; that of Linux.
pub const PATH: usize = 4096;
/// The largest number of parts of an entry's path.
pub const PATH_DEPTH: usize = 128;
/// The largest extension of an entry's header (PAX records, GNU long names), in bytes.
pub const EXTENSION: u64 = 64 << 10;
/// Layers of an image.
pub const LAYERS: usize = 512;
/// The largest `/etc/passwd` and `/etc/group` in which names of users are looked up, in bytes.
pub const USERS: u64 = 1 << 20;
