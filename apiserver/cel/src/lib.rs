//! CEL: the rules of `x-kubernetes-validations`, and the expressions of admission.
//!
//! Parser, type checker and evaluator are our own: the server shows cel-go's errors with their place in
//! the source, refuses at creation what does not type-check against the schema, and rules range over
//! the object without converting it first. The language is CEL with the libraries that kube-apiserver
//! 1.36 gives to CustomResourceDefinitions.
//!
//! [`problems`] says what is wrong with a rule when its CustomResourceDefinition is written; [`Rules`] are those of a schema, ready
//! for its objects; [`program`] has the expressions that stand outside of schemas.

mod check;
mod cost;
mod declarations;
mod eval;
mod functions;
pub mod limits;
pub mod program;
mod rules;
mod syntax;
mod types;
mod values;

pub use check::{RuleCost, RuleProblem, problems};
pub use rules::{Known, Rules, evaluations, spent};
