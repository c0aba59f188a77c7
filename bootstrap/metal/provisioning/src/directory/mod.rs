//! Who knows the machines: implementations of [`metal_boot::machine::Directory`].

mod kube;
mod token;
mod tokens;

pub use kube::{ADDRESS, Kube};
pub use token::BootToken;
pub(crate) use token::token;
