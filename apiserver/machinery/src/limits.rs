//! Limits of what is parsed here.

/// Nesting of a JSON or YAML document. Below the 128 levels that `serde_json` reads back from the store.
pub const MAX_DEPTH: usize = 120;

/// Operations of one JSON patch.
pub const MAX_JSON_PATCH_OPERATIONS: usize = 10_000;

/// Managers with operation `Update` before the oldest are merged into `ancient-changes`.
pub const MAX_UPDATE_MANAGERS: usize = 10;

/// Bytes of all annotations of an object, keys and values.
pub const MAX_ANNOTATIONS_SIZE: usize = 256 * 1024;

/// Problems of one document that strict decoding collects.
pub const MAX_DECODE_PROBLEMS: usize = 100;

/// Aliases in one YAML document.
pub const MAX_YAML_ALIASES: usize = 100;

/// Nodes in one YAML document.
pub const MAX_YAML_NODES: usize = 500_000;
