//! PersistentVolumes, their claims, and the kinds of `storage.k8s.io`. No controller of this server binds or provisions volumes.

mod capacity;
pub(crate) mod claim;
mod class;
mod columns;
pub(crate) mod kinds;
mod volume;
pub(crate) mod warnings;
