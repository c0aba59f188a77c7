//! Limits of the input that this crate parses and evaluates.

/// Maximum depth of objects and lists in a document of any format. Walks over objects are recursive. The most expensive
/// one, YAML parsing, takes 3.6 KB of stack per level in an unoptimized build, so it needs less than half of the 2 MiB
/// of a thread (`tests/depth.rs`, `apiserver/registry/tests/depth.rs`).
pub const MAX_DEPTH: usize = 224;

/// Maximum depth of nested schemas. Below `properties`, each takes two levels of a document.
pub const MAX_SCHEMA_DEPTH: usize = 128;

/// Maximum size of the defaults that a schema gives to one object, or that of a class's variable to a value or to all variables of a Cluster,
/// in bytes of JSON. An object of the API cannot be larger.
pub const MAX_DEFAULTS_SIZE: usize = 3 * 1024 * 1024;

/// Maximum number of operations of one JSON patch.
pub const MAX_JSON_PATCH_OPERATIONS: usize = 10_000;

/// Maximum size that the `copy` operations of one JSON patch add, in bytes of JSON.
pub const MAX_JSON_PATCH_COPIES: usize = 3 * 1024 * 1024;

/// Maximum number of values that the operations of one JSON patch add, copy and move.
pub const MAX_JSON_PATCH_VALUES: usize = 5_000_000;

/// Number of managers with operation `Update` above which the oldest are merged into `ancient-changes`.
pub const MAX_UPDATE_MANAGERS: usize = 10;

/// Maximum size of all annotations of an object, keys and values, in bytes.
pub const MAX_ANNOTATIONS_SIZE: usize = 256 * 1024;

/// Maximum number of errors that strict decoding of one document collects: duplicate and unknown fields.
pub const MAX_DECODE_PROBLEMS: usize = 100;

/// Size in bytes of the paths after which strict decoding of one document records no further error. The names above a
/// field can be as long as the document.
pub const MAX_DECODE_PROBLEMS_TEXT: usize = 256 * 1024;

/// Maximum total size of the paths to all fields and items of one document, in bytes. Code that walks a document names
/// fields by their path, so a name at the top with half the size of the document would be written for each of 100 000
/// fields below it.
pub const MAX_PATHS_TEXT: usize = 128 * 1024 * 1024;

/// Maximum number of aliases in one YAML document.
pub const MAX_YAML_ALIASES: usize = 100;

/// Maximum number of nodes in one YAML document.
pub const MAX_YAML_NODES: usize = 500_000;

/// Maximum size of the text in one YAML document with expanded aliases, in bytes.
pub const MAX_YAML_TEXT: usize = 8 * 1024 * 1024;

/// Maximum depth of nested filters in a JSONPath such as `[?(@.a[?(@.b)])]`.
pub const MAX_PATH_FILTERS: usize = 16;

/// Maximum memory of the compiled form of one pattern, in bytes.
pub const MAX_PATTERN_BYTES: usize = 64 << 20;

/// Maximum size of one pattern: the instructions of Go's program, in which repetitions multiply their operand, and the
/// ranges of its classes.
pub const MAX_PATTERN_SIZE: u64 = 500_000;

/// Maximum number of versions of one CustomResourceDefinition, and of its webhook's reviews.
pub const MAX_VERSIONS: usize = 1_000;

/// Maximum size of all patterns of one CustomResourceDefinition.
pub const MAX_PATTERNS_SIZE: u64 = 1_000_000;

/// Maximum number of values that one step of a JSONPath finds. Printer columns show the first one.
pub const MAX_PATH_VALUES: usize = 10_000;

/// Maximum number of requirements of a label selector, and of terms of a field selector.
pub const MAX_SELECTOR_TERMS: usize = 1000;

/// Maximum number of compiled schema patterns in the shared cache.
pub const MAX_SHARED_PATTERNS: usize = 256;

/// Maximum work of validating types and values of one object, in values and in pieces of eight bytes of text. An object
/// of 3 MiB has at most 1.5 million; each alternative of its schema walks them again.
pub const MAX_VALIDATION_WORK: u64 = 8_000_000;

/// Size in bytes after which an error lists no further allowed values.
pub const MAX_ALLOWED_TEXT: usize = 16 * 1024;

/// Number of errors after which the validation of one object stops. Its refusal lists no more. Users do not read more, and an item of two bytes
/// may have several errors.
pub const MAX_FIELD_ERRORS: usize = 1000;
