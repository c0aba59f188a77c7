//! What a machine is told of itself: names, user data, networks, in the forms that clouds have for it. A machine is told its own only.

pub mod channel;
mod data;
mod service;
pub(crate) mod tree;

pub use service::Metadata;
