//! The steps that create, update and patch share.

pub(crate) mod allocation;
pub(crate) mod change;
pub(crate) mod changed;
pub(crate) mod charge;
pub(crate) mod decode;
mod definition_writes;
pub(crate) mod identity;
pub(crate) mod metadata;
pub(crate) mod ownership;
pub(crate) mod size;
pub(crate) mod validate;
pub(crate) mod writes;
