//! CustomResourceDefinitions and custom objects, as apiextensions-apiserver handles them. All functions work on JSON and do
//! not access the store.
//!
//! [`crd`] decodes, defaults and validates CustomResourceDefinitions. A [`CompiledSchema`] validates the objects of one
//! version of a custom resource.

pub mod crd;
mod custom_object;

pub use custom_object::{CompiledSchema, rules_blocked};
