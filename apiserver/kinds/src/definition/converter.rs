//! Conversion between the versions of a custom resource in this process.

use std::fmt::Debug;

use serde_json::Value;

use super::resource::Definition;

/// Converts objects of custom resources between their versions, instead of a webhook. The embedder implements it for
/// the definitions that it installs.
pub trait Converter: Debug + Send + Sync {
    /// Called with each definition of a custom resource before it is served, and after each change of it. How objects are converted may
    /// depend on the definitions of other kinds to which they refer.
    fn defined(&self, definition: &Definition);

    /// Returns whether this converts the objects of `definition`. It is not asked about definitions with a webhook.
    fn concerns(&self, definition: &Definition) -> bool;

    /// Returns the object in another version of `definition`. It must lose nothing, because the object that comes back
    /// from the other version is stored. The fields of the object have the types of its version; its annotations may
    /// have any content.
    fn convert(&self, definition: &Definition, object: Value, version: &str) -> Value;
}
