//! Arguments have to have the types of a function's parameters. Nothing is converted, but literals of numbers have each type that they fit.

use super::{Rendered, Renderer};
use crate::functions::Parameter;
use crate::syntax::Operand;
use crate::values::{Map, MapType, Value};

impl Renderer<'_> {
    /// The value of an argument.
    pub(super) fn argument(
        &mut self,
        dot: &Value,
        parameter: Parameter,
        operand: &Operand,
    ) -> Rendered<Value> {
        self.count(1)?;
        let value = match operand {
            Operand::Dot => dot.clone(),
            Operand::Nil => return self.nil(parameter),
            Operand::Field(names) => self.fields(dot, dot.clone(), names, &[], None)?,
            Operand::Variable(name, names) => self.variable_fields(dot, name, names)?,
            Operand::Pipeline(pipeline) => self.pipeline(dot, pipeline)?,
            Operand::Function(function) => self.call(dot, function, None, &[], None)?,
            Operand::Chain(inner, names) => {
                let receiver = match &**inner {
                    Operand::Pipeline(pipeline) => self.pipeline(dot, pipeline)?,
                    Operand::Function(function) => self.call(dot, function, None, &[], None)?,
                    other => self.literal(dot, other)?,
                };
                self.fields(dot, receiver, names, &[], None)?
            }
            Operand::Bool(_) | Operand::Number(_) | Operand::Text(_) => {
                return self.typed_literal(dot, parameter, operand);
            }
        };
        self.converted(value, parameter)
    }

    fn nil(&self, parameter: Parameter) -> Rendered<Value> {
        match parameter {
            Parameter::Any => Ok(Value::Nil),
            Parameter::Value => Ok(Value::Missing),
            Parameter::Map => Ok(Value::Map(Map::nil())),
            other => self.fail(format!("nil cannot be an argument of type {}", other.name())),
        }
    }

    /// A literal for a parameter.
    fn typed_literal(&mut self, dot: &Value, parameter: Parameter, operand: &Operand) -> Rendered<Value> {
        let typed = match (parameter, operand) {
            (Parameter::Any | Parameter::Value, _) => return self.literal(dot, operand),
            (Parameter::Bool, Operand::Bool(value)) => Some(Value::Bool(*value)),
            (Parameter::Text, Operand::Text(text)) => Some(Value::Text(text.clone())),
            (Parameter::Int, Operand::Number(number)) => number.int.map(Value::Int),
            (Parameter::Float, Operand::Number(number)) => number.float.map(Value::Float),
            (Parameter::Uint32, Operand::Number(number)) => {
                number.uint.map(|value| Value::Uint64(value & u64::from(u32::MAX)))
            }
            _ => None,
        };
        match typed {
            Some(value) => Ok(value),
            None => self.fail(format!("expected a literal of type {}", parameter.name())),
        }
    }

    /// A value for a parameter, if it has the type.
    pub(super) fn converted(&self, value: Value, parameter: Parameter) -> Rendered<Value> {
        let fits = match (parameter, &value) {
            (Parameter::Value, _) => true,
            (Parameter::Any, Value::Missing) => return Ok(Value::Nil),
            (Parameter::Any, _) => true,
            (Parameter::Map, Value::Missing) => return Ok(Value::Map(Map::nil())),
            (Parameter::Map, Value::Map(map)) => map.values() == MapType::Any,
            (Parameter::Text, Value::Text(_))
            | (Parameter::Bool, Value::Bool(_))
            | (Parameter::Int, Value::Int(_))
            | (Parameter::Float, Value::Float(_))
            | (Parameter::Time, Value::Time(_))
            | (Parameter::Version, Value::Version(_)) => true,
            _ => false,
        };
        if fits {
            return Ok(value);
        }
        if value.is_nothing() {
            return self.fail(format!("there is no value, but one of type {} is needed", parameter.name()));
        }
        self.fail(format!("the value has type {}, but {} is needed", value.type_name(), parameter.name()))
    }
}
