//! Who knows the machines: implementations of [`crate::machine::Directory`].

mod memory;

pub use memory::Memory;
