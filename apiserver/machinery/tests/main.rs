//! Tests of the public functions: decoding, patches, apply, selectors, tables, and damaged input.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod apply;
mod apply_cases;
mod cache;
mod damaged_input;
mod decode;
mod depth;
mod duration;
mod field_path;
mod hash;
mod ownership;
mod patch;
mod pattern;
mod quantity;
mod selector;
mod splice;
mod table;
mod url;
mod work;
mod yaml;

use machinery::apply::Versions;
use machinery::schema::Schema;
use serde_json::Value;

/// A resource with one schema for all versions, whose conversion only changes `apiVersion`.
struct OneSchema<'a>(&'a Schema);

impl Versions for OneSchema<'_> {
    fn schema(&self, _api_version: &str) -> Option<&Schema> {
        Some(self.0)
    }

    fn convert(&self, object: &Value, api_version: &str) -> Option<Value> {
        let mut object = object.clone();
        object["apiVersion"] = api_version.into();
        Some(object)
    }
}
