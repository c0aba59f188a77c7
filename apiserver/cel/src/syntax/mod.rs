//! From source to syntax tree.

pub(crate) mod ast;
mod macros;
pub(crate) mod names;
mod nodes;
mod parse;
pub(crate) mod token;

pub(crate) use parse::parse;
