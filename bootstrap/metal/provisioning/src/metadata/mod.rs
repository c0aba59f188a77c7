//! The metadata service: names, user data, and network data in the formats of clouds. A machine receives only its own data.

pub mod channel;
pub mod data;
pub mod service;
pub mod tree;

pub use service::Metadata;
