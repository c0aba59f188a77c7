//! ResourceQuotas and LimitRanges, and what they demand of other objects.

mod amounts;
mod columns;
pub(crate) mod kinds;
mod limit_range;
pub mod limits;
mod quota;
