//! Type checking of rules against the schema, and compilation.

mod checker;
mod compile;
mod expression;
mod literals;
mod problems;
mod report;

pub(crate) use compile::{Compiled, compile};
pub(crate) use expression::expression;
pub use problems::{RuleCost, RuleProblem, problems};
