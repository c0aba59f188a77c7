//! What a server does with CustomResourceDefinitions and with custom objects, as apiextensions-apiserver does it: everything works on
//! JSON, and nothing here knows where it is stored.
//!
//! [`crd`] decodes and judges the definitions themselves; a [`CompiledSchema`] judges the objects of one version of a kind.

pub mod crd;
mod custom_object;

pub use custom_object::{CompiledSchema, rules_blocked};
