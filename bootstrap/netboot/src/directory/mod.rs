//! Who knows the machines: implementations of [`crate::machine::Directory`].

mod boot;
mod kube;
mod memory;

pub use kube::{ADDRESS, Kube};
pub use memory::Memory;
