//! Evaluates pipelines: commands, fields, methods and calls of functions.

use std::sync::Arc;

use super::{MissingKey, Rendered, Renderer};
use crate::format::numbers::Number;
use crate::functions::{Arguments, Function, Parameter, methods};
use crate::syntax::{Operand, Pipeline};
use crate::values::{Bytes, Value};

impl Renderer<'_> {
    /// The value of a pipeline, which is also given to its variables.
    pub(super) fn pipeline(&mut self, dot: &Value, pipeline: &Pipeline) -> Rendered<Value> {
        self.enter()?;
        self.line = pipeline.line;
        let mut last = None;
        for command in &pipeline.commands {
            let value = match self.command(dot, command, last)? {
                // What a pipeline gives is no interface, so nil is no value.
                Value::Nil => Value::Missing,
                value => value,
            };
            last = Some(value);
        }
        let value = last.unwrap_or(Value::Missing);
        for name in &pipeline.variables {
            if pipeline.assigns {
                if !self.variables.assign(name, value.clone()) {
                    return self.fail(format!("the variable {name:?} is not declared"));
                }
            } else {
                self.variables.declare(name.clone(), value.clone());
            }
        }
        self.leave();
        Ok(value)
    }

    /// A command. `last` is the value of the command before it.
    fn command(&mut self, dot: &Value, command: &[Operand], last: Option<Value>) -> Rendered<Value> {
        self.count(1)?;
        let Some((first, arguments)) = command.split_first() else { return Ok(Value::Missing) };
        match first {
            Operand::Field(names) => return self.fields(dot, dot.clone(), names, arguments, last),
            Operand::Chain(operand, names) => {
                let receiver = self.receiver(dot, operand)?;
                return self.fields(dot, receiver, names, arguments, last);
            }
            Operand::Function(function) => return self.call(dot, function, None, arguments, last),
            Operand::Variable(name, names) if !names.is_empty() => {
                let receiver = self.variable(name);
                return self.fields(dot, receiver, names, arguments, last);
            }
            _ => {}
        }
        if !arguments.is_empty() || last.is_some() {
            return self.fail("a value that is no function cannot have arguments");
        }
        match first {
            Operand::Pipeline(inner) => self.pipeline(dot, inner),
            Operand::Variable(name, _) => Ok(self.variable(name)),
            Operand::Nil => self.fail("nil is no command"),
            other => self.literal(dot, other),
        }
    }

    fn variable(&self, name: &str) -> Value {
        self.variables.get(name).cloned().unwrap_or(Value::Missing)
    }

    /// The value before the fields of a chain.
    fn receiver(&mut self, dot: &Value, operand: &Operand) -> Rendered<Value> {
        match operand {
            Operand::Pipeline(inner) => self.pipeline(dot, inner),
            Operand::Function(function) => self.call(dot, function, None, &[], None),
            other => self.literal(dot, other),
        }
    }

    /// A literal, or the dot.
    pub(super) fn literal(&mut self, dot: &Value, operand: &Operand) -> Rendered<Value> {
        match operand {
            Operand::Bool(value) => Ok(Value::Bool(*value)),
            Operand::Text(text) => Ok(Value::Text(text.clone())),
            Operand::Number(number) => self.number(number),
            Operand::Dot => Ok(dot.clone()),
            _ => self.fail("this cannot be a value"),
        }
    }

    fn number(&self, number: &Number) -> Rendered<Value> {
        match (number.prefers_float, number.float, number.int) {
            (true, Some(float), _) => Ok(Value::Float(float)),
            (_, _, Some(int)) => Ok(Value::Int(int)),
            _ => self.fail("an integer is too large"),
        }
    }

    /// The field at the end of a chain. Only the last one can have arguments, if it is a method.
    pub(super) fn fields(
        &mut self,
        dot: &Value,
        mut receiver: Value,
        names: &[Bytes],
        arguments: &[Operand],
        mut last: Option<Value>,
    ) -> Rendered<Value> {
        for (position, name) in names.iter().enumerate() {
            receiver = if position + 1 == names.len() {
                self.field(dot, receiver, name, arguments, last.take())?
            } else {
                self.field(dot, receiver, name, &[], None)?
            };
        }
        Ok(receiver)
    }

    fn field(
        &mut self,
        dot: &Value,
        receiver: Value,
        name: &[u8],
        arguments: &[Operand],
        last: Option<Value>,
    ) -> Rendered<Value> {
        let shown = String::from_utf8_lossy(name);
        match &receiver {
            Value::Missing if self.missing == MissingKey::Error => {
                return self.fail(format!("there is no value, so it has no {shown:?}"));
            }
            Value::Missing => return Ok(Value::Missing),
            Value::Nil => return self.fail(format!("null has no field {shown:?}")),
            _ => {}
        }
        if let Some(method) = methods::find(&receiver, &shown) {
            return self.call(dot, method, Some(receiver), arguments, last);
        }
        let Value::Map(map) = &receiver else {
            return self.fail(format!("a value of type {} has no field {shown:?}", receiver.type_name()));
        };
        if !arguments.is_empty() || last.is_some() {
            return self.fail(format!("the field {shown:?} is no function, so it cannot have arguments"));
        }
        match map.get(name) {
            Some(value) => Ok(value),
            None if self.missing == MissingKey::Error => {
                self.fail(format!("the key {shown:?} does not exist"))
            }
            None => Ok(Value::Missing),
        }
    }

    /// Calls a function, or a method with its receiver.
    pub(super) fn call(
        &mut self,
        dot: &Value,
        function: &'static Function,
        receiver: Option<Value>,
        operands: &[Operand],
        last: Option<Value>,
    ) -> Rendered<Value> {
        self.enter()?;
        self.count(1)?;
        let line = self.line;
        let count = operands.len() + usize::from(last.is_some());
        let (fixed, more) = (function.parameters.len(), function.rest.is_some());
        if count < fixed || (count > fixed && !more) {
            let at_least = if more { "at least " } else { "" };
            return self
                .fail(format!("{} needs {at_least}{fixed} arguments, and has {count}", function.name));
        }
        if function.short_circuit {
            let value = self.short_circuit(dot, function, operands, last)?;
            self.leave();
            return Ok(value);
        }
        let mut values = Vec::with_capacity(count + 1);
        values.extend(receiver);
        for (position, operand) in operands.iter().enumerate() {
            values.push(self.argument(dot, function.parameter(position), operand)?);
        }
        if let Some(last) = last {
            values.push(self.converted(last, function.parameter(operands.len()))?);
        }
        self.line = line;
        let value = (function.call)(&mut self.work, &Arguments(values))
            .map_err(|failure| failure.in_function(function.name).at(self.line))?;
        self.leave();
        Ok(value)
    }

    /// `and` and `or`, which evaluate their arguments only as far as necessary.
    fn short_circuit(
        &mut self,
        dot: &Value,
        function: &Function,
        operands: &[Operand],
        last: Option<Value>,
    ) -> Rendered<Value> {
        let stop = function.name == "or";
        let mut value = Value::Missing;
        for operand in operands {
            value = self.argument(dot, Parameter::Value, operand)?;
            if value.is_true() == stop {
                return Ok(value);
            }
        }
        Ok(last.unwrap_or(value))
    }

    /// The variable with its fields, as an argument.
    pub(super) fn variable_fields(
        &mut self,
        dot: &Value,
        name: &Arc<str>,
        names: &[Bytes],
    ) -> Rendered<Value> {
        let receiver = self.variable(name);
        self.fields(dot, receiver, names, &[], None)
    }
}
