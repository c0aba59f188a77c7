//! The syntax tree of expressions, and the parser that produces it.

pub(crate) mod ast;
mod create;
mod macros;
pub(crate) mod names;
mod nodes;
mod parse;
pub(crate) mod token;

pub(crate) use parse::parse;
