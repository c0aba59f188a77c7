//! Limits of the work for one request.

/// Maximum number of lines of a text for which an error shows the differences. Longer differences are not readable.
pub const DIFFERENCE_LINES_MAX: usize = 5_000;

/// Maximum number of comparisons of lines, after which an error omits the differences.
pub const DIFFERENCE_WORK_MAX: usize = 500_000;
