//! Type checking and compilation of rules and expressions.

mod checker;
mod compile;
mod create;
mod expression;
mod literals;
mod problems;
mod report;

pub(crate) use compile::{Compiled, compile};
pub use expression::Environment;
pub(crate) use expression::expression;
pub use problems::{RuleCost, RuleProblem, problems};
