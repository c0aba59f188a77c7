//! What configures admission: webhooks, policies and their bindings.

mod columns;
mod expressions;
pub(crate) mod kinds;
mod matching;
mod policies;
mod webhooks;

pub use expressions::{POLICY_VARIABLES, REQUEST};
