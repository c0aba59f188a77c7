//! The cost of rules: estimated when a rule is written, and counted when it is evaluated.

pub(crate) mod actual;
mod calls;
mod estimate;
mod node;
mod sizes;
mod units;

pub(crate) use estimate::estimate;
pub(crate) use node::{Types, key};
