//! Events, which two groups serve.

mod columns;
mod event;
pub(crate) mod kinds;
pub mod shape;
