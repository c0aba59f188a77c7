//! The kinds that configure admission: webhook configurations, policies and their bindings.

mod bindings;
mod columns;
mod expressions;
pub(crate) mod kinds;
mod matching;
mod mutations;
mod policies;
mod webhooks;

pub use expressions::{POLICY_VARIABLES, REQUEST};
