//! Units of cost, shared by estimates and evaluation.

/// Cost of creating a list.
pub(super) const LIST: u64 = 10;
/// Cost of creating a map.
pub(super) const MAP: u64 = 30;
/// Cost of creating a structure.
pub(super) const STRUCTURE: u64 = 40;
/// Cost of reading a character.
pub(super) const TRAVERSAL: f64 = 0.1;
/// Cost of a character of a regular expression.
pub(super) const PATTERN: f64 = 0.25;

/// Returns `size` times `factor`, rounded up.
pub(super) fn scaled(size: u64, factor: f64) -> u64 {
    // A float beyond the range of the integer becomes its largest value.
    (size as f64 * factor).ceil() as u64
}
