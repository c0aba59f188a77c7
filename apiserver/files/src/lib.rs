//! Files and folders that a power failure leaves as they were or as they should be, and never half written.
//!
//! A name is durable in three steps: the content is on the disk before the rename, the rename is atomic, and the folder is on the disk before
//! the function returns. Everything that is written outside of the store, and is read again by a later process, goes through this crate;
//! `std::fs::rename` is refused elsewhere (`tests/tidy`).

mod disk;
mod folders;
mod lock;
mod open;
mod replace;
mod tail;

pub use disk::{Disk, System};
pub use folders::{make_folder, make_folder_on, publish_folder};
pub use lock::{lock, try_lock, try_lock_shared};
pub use open::{behind_links, is_replaceable, open};
pub use replace::{append, publish, publish_on, remove_on, rename, replace, replace_on, write};
pub use tail::tail;
