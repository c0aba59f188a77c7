//! Implementations of [`crate::machine::Directory`].

mod boot;
mod kube;
mod memory;
mod tokens;

pub use kube::{ADDRESS, Kube};
pub use memory::Memory;
pub use tokens::BootToken;
pub(crate) use tokens::token;
