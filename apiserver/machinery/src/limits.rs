//! Limits of what is parsed here.

/// Nesting of a JSON or YAML document. Every walk over an object is recursive, and this deep it fits into a thread's stack of
/// 2 MiB (`apiserver/registry/tests/depth.rs`).
pub const MAX_DEPTH: usize = 1000;

/// Cost of one evaluation of a CEL rule, in cel-go's units; about a tenth of a second.
pub const MAX_CEL_CALL_COST: u64 = 1_000_000;

/// Cost of all CEL rules of one object.
pub const MAX_CEL_OBJECT_COST: u64 = 10_000_000;

/// Estimated cost of one CEL rule over a whole object, when its CustomResourceDefinition is written.
pub const MAX_CEL_ESTIMATE: u64 = 10_000_000;

/// Estimated cost of all CEL rules of one schema.
pub const MAX_CEL_SCHEMA_ESTIMATE: u64 = 100_000_000;

/// Operations of one JSON patch.
pub const MAX_JSON_PATCH_OPERATIONS: usize = 10_000;

/// Bytes that the copies of one JSON patch add, as JSON.
pub const MAX_JSON_PATCH_COPIES: usize = 3 * 1024 * 1024;

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

/// Compiled patterns of schemas that are kept to be shared.
pub const MAX_SHARED_PATTERNS: usize = 256;
