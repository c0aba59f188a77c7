//! The schema of `metadata`, which is the same in all kinds.

use std::sync::OnceLock;

use machinery::schema::Schema;
use serde_json::Value;

/// Returns the schema of `ObjectMeta`, with the patch strategies of built-in kinds.
pub fn schema() -> &'static Schema {
    static SCHEMA: OnceLock<Schema> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let source: Value = serde_json::from_str(include_str!("object-meta.json")).unwrap_or_default();
        Schema::parse(&source).unwrap_or_default()
    })
}

/// Removes unknown fields of `metadata`, and returns the findings of strict decoding.
pub fn prune(object: &mut Value) -> Vec<String> {
    let Some(metadata) = object.get_mut("metadata") else { return Vec::new() };
    let removed = machinery::schema::prune(schema(), metadata);
    removed.into_iter().map(|path| format!("unknown field \"metadata.{path}\"")).collect()
}
