//! What rules cost: estimated when they are written, and counted when they are evaluated.

pub(crate) mod actual;
mod calls;
mod estimate;
mod node;
mod sizes;
mod units;

pub(crate) use estimate::estimate;
pub(crate) use node::{Types, key};
