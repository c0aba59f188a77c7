//! The syntax of Go's `text/template`: text with actions between `{{` and `}}`.
//!
//! [`tokens`] splits the text, [`strings`] and [`crate::format::numbers`] read literals, [`parser`] makes the tree below. The rules are those of Go's package
//! `text/template/parse`, also where they are surprising: `{{ .x | }}` is accepted, and a variable that nobody declared is refused.

pub(crate) mod blocks;
pub(crate) mod parser;
pub(crate) mod strings;
pub(crate) mod tokens;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::format::numbers::Number;
use crate::functions::Function;
use crate::values::Bytes;

/// A node of a template.
#[derive(Debug)]
pub(crate) enum Node {
    Text(Bytes),
    Action(Pipeline),
    If(Branch),
    With(Branch),
    Range(Branch),
    Call { line: usize, name: Bytes, argument: Option<Pipeline> },
    Break,
    Continue,
}

/// `if`, `with` or `range`, with its `else`.
#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) pipeline: Pipeline,
    pub(crate) body: Vec<Node>,
    pub(crate) otherwise: Vec<Node>,
}

/// Commands, each of which gets the value of the one before as its last argument.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) line: usize,
    /// The variables that get the value.
    pub(crate) variables: Vec<Arc<str>>,
    /// Whether the variables exist already (`=`), or are declared (`:=`).
    pub(crate) assigns: bool,
    pub(crate) commands: Vec<Vec<Operand>>,
}

/// A word of a command.
#[derive(Debug)]
pub(crate) enum Operand {
    Bool(bool),
    Dot,
    Nil,
    Number(Number),
    Text(Bytes),
    Field(Vec<Bytes>),
    Variable(Arc<str>, Vec<Bytes>),
    Function(&'static Function),
    Pipeline(Box<Pipeline>),
    Chain(Box<Operand>, Vec<Bytes>),
}

/// A parsed text: the templates that it defines, by their names. The text itself has the name [`MAIN`].
pub(crate) type Templates = BTreeMap<Bytes, Vec<Node>>;

/// The name of the template that the text itself is. Upstream's has this name, and a template can call itself by it.
pub(crate) const MAIN: &str = "tpl";

/// Whether there is nothing but white space. A definition that is blank does not replace another.
pub(crate) fn is_blank(nodes: &[Node]) -> bool {
    nodes.iter().all(|node| matches!(node, Node::Text(text) if text.trim_ascii().is_empty()))
}

/// A place in the text that is wrong.
#[derive(Debug)]
pub(crate) struct Wrong {
    pub(crate) line: usize,
    pub(crate) message: String,
}
