//! Events, which the core group and `events.k8s.io` serve.

mod columns;
mod event;
pub(crate) mod kinds;
pub mod shape;
