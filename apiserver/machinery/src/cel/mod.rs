//! CEL, the language of the rules in `x-kubernetes-validations`.
//!
//! Parser, type checker and evaluator are part of this crate, because the server shows cel-go's errors with their place
//! in the source, refuses rules that do not type-check against the schema, and evaluates rules on the object without
//! converting it first. The language is CEL with the libraries that kube-apiserver 1.36 provides for
//! CustomResourceDefinitions.

mod ast;
pub mod check;
pub mod cost;
mod eval;
mod functions;
mod net;
mod parse;
pub mod program;
mod quantity;
mod rules;
mod semver;
pub mod time;
mod token;
mod types;
pub mod url;
mod validators;
mod value;
mod work;

pub use check::{Compiled, compile};
pub use rules::{Known, Programs, evaluations, ratcheted, spent, validate};
