//! The output of containers: `write` appends to files, `read` answers `kubectl logs`.
//!
//! A line of a file is a time, the stream, `F` for a whole line or `P` for a part of a long one, and the text, as container runtimes
//! write it.

mod read;
mod write;

pub use read::{LogFile, Options, stream, text};
pub use write::{Log, copy};

/// The largest file in bytes; it is then moved aside, and the one that was there before is removed.
pub const FILE_BYTES: u64 = 10 << 20;
/// The longest line in bytes; longer lines are written in parts.
pub const LINE_BYTES: usize = 16 << 10;

/// The name of a file that was moved aside.
const ASIDE: &str = "old";
