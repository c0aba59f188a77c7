//! ResourceQuotas and LimitRanges. Nothing here counts or limits.

mod columns;
pub(crate) mod kinds;
mod limit_range;
mod quota;
