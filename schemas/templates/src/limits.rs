//! The bounds of the work that a template can make.
//!
//! A template is a stranger's program. What it costs is counted while it runs, so that the same template fails at the same step everywhere, however
//! fast the machine is.

/// Bytes of a template's text. A class with all its templates must fit into one object of the API.
pub const TEMPLATE_BYTES_MAX: usize = 1 << 20;
/// Nested blocks and parentheses in a template's text, which the parser follows by recursion.
pub const SYNTAX_DEPTH_MAX: usize = 100;
/// Nested blocks, parentheses and calls of other templates while a template is rendered.
pub const EXECUTION_DEPTH_MAX: usize = 200;
/// Nested lists and maps in a value.
pub const VALUE_DEPTH_MAX: usize = 100;
/// Steps of a rendering: commands, iterations, the elements that a function reads or makes, and every [`STEP_BYTES`] of values. A million steps take less than a second.
pub const STEPS_MAX: u64 = 1_000_000;
/// Steps of rendering the template of a name. Names have a few dozen characters, and one write can make thousands of them.
pub const NAME_STEPS_MAX: u64 = 1_000;
/// Bytes of all values that a rendering makes, whether they are still in use or not.
pub const MEMORY_BYTES_MAX: u64 = 64 << 20;
/// Bytes of values that count as one more step.
pub const STEP_BYTES: u64 = 1 << 10;
/// Bytes of the rendered text.
pub const OUTPUT_BYTES_MAX: usize = 4 << 20;
/// Instructions and ranges of characters of a regular expression.
pub const REGEX_SIZE_MAX: u64 = 20_000;
/// Steps that `derivePassword` counts, because each call takes as long as this many others.
pub const DERIVATION_STEPS: u64 = 400_000;
/// Steps that a new regular expression counts.
pub const REGEX_STEPS: u64 = 10_000;
