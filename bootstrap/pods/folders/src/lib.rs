//! Files and folders below a folder that a container or an image can change. Each is reached by descriptors and by `openat2`, never by a path
//! of this machine: between a look at a path and its use, a container may have put a link there.
//!
//! [`Root`] is the root folder of a container: its links lead to places within it, as the container sees them. [`Folder`] is a volume: no link
//! in it is followed at all. [`remove()`] removes a tree, however deep.

mod folder;
mod remove;
mod root;

pub use folder::Folder;
pub use remove::{list, names, remove, type_of};
pub use root::{Missing, Root};
