//! Limits of images of nodes.

/// The longest version of Kubernetes that an image may name, in bytes.
pub const VERSION: u64 = 256;
/// The parts of an archive that wait until somebody reads them, each of [`PART`] bytes.
pub const PARTS: usize = 4;
/// The largest part of an archive that is handed on at once, in bytes.
pub const PART: usize = 256 << 10;
/// How often a pull is told while its bytes come: at each tenth.
pub const STEPS: u64 = 10;
