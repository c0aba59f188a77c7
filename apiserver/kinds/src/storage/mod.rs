//! Volumes, the claims to them, and their classes. Nothing here binds or provisions.

mod capacity;
pub(crate) mod claim;
mod class;
mod columns;
pub(crate) mod kinds;
mod volume;
pub(crate) mod warnings;
