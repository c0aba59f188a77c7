//! Limits of rules and expressions.

/// Levels of a CEL expression; the same as cel-go's.
pub const MAX_CEL_DEPTH: usize = 250;

/// Characters of a CEL expression; the same as cel-go's.
pub const MAX_CEL_SOURCE: usize = 100_000;

/// Named parts of the expressions of one admission policy; each is evaluated over those before it.
pub const MAX_CEL_VARIABLES: usize = 500;

/// Mistakes of one CEL expression that are shown; the same as cel-go's.
pub const MAX_CEL_PROBLEMS: usize = 100;

/// Bytes that the mistakes of one CEL expression are shown in, the last one aside.
pub const MAX_CEL_PROBLEMS_TEXT: usize = 64 * 1024;

/// Values that one evaluation of a CEL expression copies, compares or makes, 16 bytes of text being one of them.
pub const MAX_CEL_CALL_WORK: u64 = 5_000_000;

/// Items that one function of a CEL expression makes.
pub const MAX_CEL_ITEMS: usize = 1_000_000;

/// Bytes of one text that a CEL expression makes.
pub const MAX_CEL_TEXT: usize = 10 * 1024 * 1024;

/// Cost of one evaluation of a CEL rule, in cel-go's units; about a tenth of a second.
pub const MAX_CEL_CALL_COST: u64 = 1_000_000;

/// Cost of one evaluation of a CEL rule, however cheap: so many evaluations take as long as their cost says.
pub const MIN_CEL_EVALUATION_COST: u64 = 4;

/// Cost of all CEL rules of one object.
pub const MAX_CEL_OBJECT_COST: u64 = 10_000_000;

/// Estimated cost of one CEL rule over a whole object, when its CustomResourceDefinition is written.
pub const MAX_CEL_ESTIMATE: u64 = 10_000_000;

/// Estimated cost of all CEL rules of one schema.
pub const MAX_CEL_SCHEMA_ESTIMATE: u64 = 100_000_000;
