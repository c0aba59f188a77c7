//! Limits of what is parsed here.

/// Levels of objects and lists in one another in a document, whatever it is written in. Walks over objects are recursive; the
/// most expensive, reading YAML, takes 3.6 KB of stack for a level of an unoptimised build, and so less than half of the 2 MiB that a
/// thread has (`tests/depth.rs`, `apiserver/registry/tests/depth.rs`).
pub const MAX_DEPTH: usize = 224;

/// Levels of schemas in one another. Each takes two levels of a document (`properties` and a name), so that a definition can be
/// this deep and not deeper.
pub const MAX_SCHEMA_DEPTH: usize = 128;

/// Operations of one JSON patch.
pub const MAX_JSON_PATCH_OPERATIONS: usize = 10_000;

/// Bytes that the copies of one JSON patch add, as JSON.
pub const MAX_JSON_PATCH_COPIES: usize = 3 * 1024 * 1024;

/// Values that the operations of one JSON patch add, copy and move.
pub const MAX_JSON_PATCH_VALUES: usize = 5_000_000;

/// Managers with operation `Update` before the oldest are merged into `ancient-changes`.
pub const MAX_UPDATE_MANAGERS: usize = 10;

/// Bytes of all annotations of an object, keys and values.
pub const MAX_ANNOTATIONS_SIZE: usize = 256 * 1024;

/// Problems of one document that strict decoding collects: duplicate fields, unknown fields.
pub const MAX_DECODE_PROBLEMS: usize = 100;

/// Bytes of paths that strict decoding writes down for the problems of one document. The names on the way to a field can be as
/// long as the document.
pub const MAX_DECODE_PROBLEMS_TEXT: usize = 256 * 1024;

/// Bytes of the paths to all fields and items of one document together. Whatever looks at a document names fields by their path, and
/// a name at the top that is as long as half a document would be written for each of 100 000 fields below.
pub const MAX_PATHS_TEXT: usize = 128 * 1024 * 1024;

/// Aliases in one YAML document.
pub const MAX_YAML_ALIASES: usize = 100;

/// Nodes in one YAML document.
pub const MAX_YAML_NODES: usize = 500_000;

/// Bytes of text in one YAML document, its aliases written out.
pub const MAX_YAML_TEXT: usize = 8 * 1024 * 1024;

/// Filters in one another in a JSONPath: `[?(@.a[?(@.b)])]`.
pub const MAX_PATH_FILTERS: usize = 16;

/// States of one pattern, about: what repetitions repeat counts as often as they say.
pub const MAX_PATTERN_SIZE: u64 = 200_000;

/// States of all patterns of one CustomResourceDefinition.
pub const MAX_PATTERNS_SIZE: u64 = 1_000_000;

/// Values that one step of a path finds. Columns show the first one.
pub const MAX_PATH_VALUES: usize = 10_000;

/// Requirements of a label selector, and terms of a field selector.
pub const MAX_SELECTOR_TERMS: usize = 1000;

/// Compiled patterns of schemas that are kept to be shared.
pub const MAX_SHARED_PATTERNS: usize = 256;

/// Values, and pieces of eight bytes of text, that validating types and values of one object looks at. An object of three mebibytes
/// has at most 1.5 million; each alternative of its schema looks at them again.
pub const MAX_VALIDATION_WORK: u64 = 8_000_000;

/// Bytes of the values that one error says are allowed.
pub const MAX_ALLOWED_TEXT: usize = 16 * 1024;

/// Errors of one object that validation gathers; nobody reads further.
pub const MAX_FIELD_ERRORS: usize = 1000;

/// Lines of a text whose changes an error shows; those of longer ones nobody reads.
pub const DIFFERENCE_LINES_MAX: usize = 5_000;

/// Lines that are compared with others until the changes are left out.
pub const DIFFERENCE_WORK_MAX: usize = 500_000;
