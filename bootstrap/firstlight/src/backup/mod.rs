//! Backups of a whole data directory: what they hold, how it is written, and how it is put back.
//!
//! A backup has every object at one revision, the keys that others trust, and the journal of a pivot. It has no history, and not the
//! certificates that the authority issues again at the next start.

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

/// Revisions that a restored server leaves out: more than were written between the backup and the loss of what it was taken of. A client
/// that has seen one of those revisions is told to read anew (410), instead of going on in a history that is another one now.
pub const REVISION_GAP: u64 = 1_000_000_000;
