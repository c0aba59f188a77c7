//! ResourceQuotas and LimitRanges, and what they demand of other objects.

mod amounts;
pub mod charge;
mod columns;
pub mod counted;
pub(crate) mod kinds;
mod limit_range;
pub mod limits;
mod pods;
mod quota;
mod scopes;
