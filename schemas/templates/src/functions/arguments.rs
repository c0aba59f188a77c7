//! What a function is, and how it reads its arguments.

use crate::error::Outcome;
use crate::values::{Map, Value, Work};

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// Any value, or nil.
    Any,
    /// Any value, or none.
    Value,
    Text,
    Int,
    Bool,
    Float,
    Uint32,
    Map,
    Time,
    Version,
}

impl Parameter {
    /// The type's name in Go.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Parameter::Any | Parameter::Value => "interface {}",
            Parameter::Text => "string",
            Parameter::Int => "int",
            Parameter::Bool => "bool",
            Parameter::Float => "float64",
            Parameter::Uint32 => "uint32",
            Parameter::Map => "map[string]interface {}",
            Parameter::Time => "time.Time",
            Parameter::Version => "*semver.Version",
        }
    }
}

/// What computes a function's value.
pub(crate) type Call = fn(&mut Work, &Arguments) -> Outcome<Value>;

/// A function with the types of its parameters.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) parameters: &'static [Parameter],
    /// The type of all further arguments, if there may be any.
    pub(crate) rest: Option<Parameter>,
    /// `and` and `or`.
    pub(crate) short_circuit: bool,
    pub(crate) call: Call,
}

impl Function {
    /// The type of the parameter at a position.
    pub(crate) fn parameter(&self, position: usize) -> Parameter {
        self.parameters.get(position).copied().or(self.rest).unwrap_or(Parameter::Any)
    }
}

/// A function with fixed parameters.
pub(super) const fn function(name: &'static str, parameters: &'static [Parameter], call: Call) -> Function {
    Function { name, parameters, rest: None, short_circuit: false, call }
}

/// A function with any number of further arguments.
pub(super) const fn variadic(
    name: &'static str,
    parameters: &'static [Parameter],
    rest: Parameter,
    call: Call,
) -> Function {
    Function { name, parameters, rest: Some(rest), short_circuit: false, call }
}

/// Arguments, which have the types of the parameters. A method has its receiver as the first.
pub(crate) struct Arguments(pub(crate) Vec<Value>);

impl Arguments {
    pub(crate) fn all(&self) -> &[Value] {
        &self.0
    }

    /// The arguments from a position on.
    pub(crate) fn from(&self, position: usize) -> &[Value] {
        self.0.get(position..).unwrap_or_default()
    }

    pub(crate) fn value(&self, position: usize) -> &Value {
        self.0.get(position).unwrap_or(&Value::Missing)
    }

    pub(crate) fn text(&self, position: usize) -> &[u8] {
        match self.0.get(position) {
            Some(Value::Text(text)) => text,
            _ => b"",
        }
    }

    /// A string's text, where only characters count. Bytes that are none become the replacement character.
    pub(crate) fn characters(&self, position: usize) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self.text(position))
    }

    pub(crate) fn int(&self, position: usize) -> i64 {
        self.0.get(position).and_then(Value::signed).unwrap_or_default()
    }

    pub(crate) fn bool(&self, position: usize) -> bool {
        matches!(self.0.get(position), Some(Value::Bool(true)))
    }

    pub(crate) fn map(&self, position: usize) -> Map {
        match self.0.get(position) {
            Some(Value::Map(map)) => map.clone(),
            _ => Map::nil(),
        }
    }
}
