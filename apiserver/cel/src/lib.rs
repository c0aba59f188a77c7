//! CEL, the language of the rules in `x-kubernetes-validations` and of the expressions in admission policies.
//!
//! Parser, type checker and evaluator are part of this crate, because the server shows cel-go's errors with their place
//! in the source, refuses rules that do not type-check against the schema, and evaluates rules on the object without
//! converting it first. The language is CEL with the libraries that kube-apiserver 1.36 provides for
//! CustomResourceDefinitions.
//!
//! [`problems`] checks a rule when its CustomResourceDefinition is written. [`Rules`] evaluates the rules of a schema on
//! objects. [`program`] compiles and evaluates expressions of admission policies and webhooks, which have no schema; those of
//! mutating policies make objects and JSON patches.

mod check;
mod cost;
mod declarations;
mod declared;
mod eval;
mod functions;
pub mod limits;
mod mutation;
pub mod program;
mod rules;
mod syntax;
mod types;
mod values;

pub use check::{RuleCost, RuleProblem, problems};
pub use rules::{Known, Rules, evaluations, limited, spent};
pub use syntax::names::is_identifier;
