//! Limits of the size, the cost and the results of expressions.

/// Maximum depth of a CEL expression, as in cel-go, and of the values and types that expressions make.
pub const MAX_CEL_DEPTH: usize = 250;

/// Maximum length of a CEL expression in characters, as in cel-go.
pub const MAX_CEL_SOURCE: usize = 100_000;

/// Maximum number of named expressions (`variables`) of one admission policy. Each can refer to those before it.
pub const MAX_CEL_VARIABLES: usize = 500;

/// Maximum number of errors that are shown for one CEL expression, as in cel-go.
pub const MAX_CEL_PROBLEMS: usize = 100;

/// Size in bytes after which no further error of a CEL expression is shown.
pub const MAX_CEL_PROBLEMS_TEXT: usize = 64 * 1024;

/// Maximum number of values that one evaluation of a CEL expression copies, compares or creates. 16 bytes of text count
/// as one value.
pub const MAX_CEL_CALL_WORK: u64 = 5_000_000;

/// Maximum number of items that one CEL function creates.
pub const MAX_CEL_ITEMS: usize = 1_000_000;

/// Maximum size of one text that a CEL expression creates, in bytes.
pub const MAX_CEL_TEXT: usize = 10 * 1024 * 1024;

/// Maximum size of what one expression of a mutating policy makes, in bytes. Each value counts as 16
/// bytes, to which texts and names of fields are added.
pub const MAX_CEL_MADE: usize = 3 * 1024 * 1024;

/// Maximum cost of one evaluation of a CEL rule, in cel-go's units. It takes about a tenth of a second.
pub const MAX_CEL_CALL_COST: u64 = 1_000_000;

/// Minimum cost that an evaluation of a CEL rule is charged, so that the time of many cheap evaluations corresponds to
/// their cost.
pub const MIN_CEL_EVALUATION_COST: u64 = 4;

/// Maximum cost of all CEL rules of one object.
pub const MAX_CEL_OBJECT_COST: u64 = 10_000_000;

/// Maximum estimated cost of one CEL rule over a whole object, checked when its CustomResourceDefinition is written.
pub const MAX_CEL_ESTIMATE: u64 = 10_000_000;

/// Maximum estimated cost of all CEL rules of one schema.
pub const MAX_CEL_SCHEMA_ESTIMATE: u64 = 100_000_000;
