//! Container images for programs that run without a container runtime: [`Sources`] finds an image in folders and archives, [`Registries`] pulls
//! it, and [`Store`] unpacks it once to the filesystem of its processes. [`Config`] says what the image runs.
//!
//! Nobody has checked what an image contains. Its layers are verified by their digests while they are unpacked, and nothing in them reaches
//! a file outside of the image's own root folder ([`Root`]).

mod attributes;
mod config;
mod extension;
mod layer;
pub mod layout;
pub mod limits;
mod locks;
mod name;
mod registries;
mod remembered;
mod sources;
mod store;
mod sums;
mod unpack;

pub use attributes::is_kept_attribute;
pub use config::{Config, User};
pub use distribution::{Client, Credentials, Hosts, Pace};
pub use locks::{Locked, Locks};
pub use name::Name;
pub use pod_folders::Root;
pub use registries::{OnProgress, Policy, Progress, Registries};
pub use sources::{Sources, SourcesState};
pub use store::{Contents, Store, Unpacked};
pub use unpack::unpack_tree;
