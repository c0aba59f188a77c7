//! The limits of each answer of a registry, in bytes and in time.

use std::time::Duration;

/// The largest manifest, index or config in bytes; that of the distribution specification.
pub const DOCUMENT: u64 = 4 << 20;
/// The largest layer in bytes.
pub const BLOB: u64 = 16 << 30;
/// The depth to which indexes contain each other.
pub const INDEX_DEPTH: usize = 4;
/// The largest answer of a token service, and the largest list of tags, in bytes.
pub const ANSWER: u64 = 1 << 20;
/// The largest number of pages of a list of tags.
pub const PAGES: usize = 100;
/// Redirects of one request.
pub const REDIRECTS: usize = 5;
/// How often a document or a download is tried.
pub const TRIES: u32 = 5;
/// The pause before the second try; it doubles with each further one.
pub const PAUSE: Duration = Duration::from_millis(200);
/// How long a registry may say nothing, and the period in which [`PROGRESS`] must be made.
pub const SILENCE: Duration = Duration::from_secs(30);
/// The bytes that must come in each period. A line of 64 kbit/s brings four times as many; with fewer, an image would take days.
pub const PROGRESS: u64 = 64 << 10;
