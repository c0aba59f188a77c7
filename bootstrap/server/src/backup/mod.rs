//! Backups of a whole data directory: their content, their format, and their restoration.
//!
//! A backup contains every object at one revision, the long-lived keys and certificates, and the journal of a pivot. It contains no
//! history, and no certificates that the authority issues again at the next start.

mod destination;
pub mod files;
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
