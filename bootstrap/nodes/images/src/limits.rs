//! Limits of images of nodes.

/// The longest version of Kubernetes that an image may name, in bytes.
pub const VERSION: u64 = 256;
/// The parts of an archive that wait until somebody reads them, each of [`PART`] bytes.
pub const PARTS: usize = 4;
/// The largest part of an archive that is handed on at once, in bytes.
pub const PART: usize = 256 << 10;
/// How often a pull is told while its bytes come: at each tenth.
pub const STEPS: u64 = 10;
/// The last lines of containerd that an error shows.
pub const LINES: usize = 5;
/// The longest list of names and the longest value of extended attributes (xattr(7)), in bytes.
pub const ATTRIBUTES: usize = 64 << 10;
