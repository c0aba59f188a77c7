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
pub use restore::{REVISION_GAP, restore};
pub use running::{BACKUP_PATH, VERIFY_PATH, backup_answer, verify_answer};
pub use take::take;
pub use verify::{verify_directory, verify_file};
