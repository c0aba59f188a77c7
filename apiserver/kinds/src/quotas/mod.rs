//! ResourceQuotas and LimitRanges. The server does not enforce them.

mod columns;
pub(crate) mod kinds;
mod limit_range;
mod quota;
