//! Evaluation of expressions. The errors have cel-go's wording, because the server shows them.

mod create;
mod lookup;
mod macros;
mod operators;
mod run;
mod scope;
mod times;

pub(crate) use run::evaluate;
pub(crate) use scope::Scope;
