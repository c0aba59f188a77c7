//! Backups of a whole data directory: their content, their format, and their restoration.
//!
//! A backup contains every object at one revision, the long-lived keys and certificates, and the journal of a pivot. It contains no
//! history, and no certificates that the authority issues again at the next start.

mod destination;
mod files;
mod format;
mod read;
mod restore;
mod running;
mod take;
mod verify;

pub use files::JOURNAL;
pub use restore::restore;
pub use running::{BACKUP_PATH, VERIFY_PATH, backup_answer, verify_answer};
pub use take::take;
pub use verify::{verify_directory, verify_file};

/// The number of revisions that a restored server skips: more than can have been written between the backup and the loss of the
/// original. A client that has seen one of the lost revisions gets 410 and must list again, instead of continuing in a different
/// history.
pub const REVISION_GAP: u64 = 1_000_000_000;
