//! The [`metal_boot::machine::Directory`] of the API, and the one-time tokens of its machines.

pub mod kube;
mod token;
mod tokens;

pub(crate) use kube::drive_token;
pub use kube::{ADDRESS, Kube};
pub use token::BootToken;
pub(crate) use token::{report_token, token};
