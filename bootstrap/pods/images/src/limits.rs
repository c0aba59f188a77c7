//! Every limit of the images that are pulled and unpacked.

use std::time::Duration;

/// Images that are pulled at once. Each takes a connection and a part of the line; a slow registry takes one of them until it is given up, so that
/// several such registries leave the others their turn.
pub const PULLS: usize = 8;
/// The time for one pull of an image. The next one goes on with what came, so that a slow line needs several; a registry that sends just fast
/// enough gives its turn away.
pub const PULL: Duration = Duration::from_secs(15 * 60);

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
