//! Expressions of mutating policies, which make an object to be applied or the operations of a JSON patch.

use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use machinery::limits::MAX_DEPTH;
use serde_json::{Map, Number, Value};

use crate::limits::{MAX_CEL_MADE, MAX_CEL_PROBLEMS};
use crate::program::{Input, Named, Program};
use crate::values::{CANCELLED, Made, OUT_OF_BUDGET, Val, show_duration, show_timestamp, work};

impl Input<'_> {
    /// Evaluates the expression of an ApplyConfiguration, whose text is `source`, to the object to be applied.
    ///
    /// # Errors
    /// The message of kube-apiserver.
    pub fn configuration(&self, named: Named<'_>, program: &Program, source: &str) -> Result<Value, String> {
        let parts = self.parts(named);
        let made = match self.value(&parts, program, source)? {
            Val::Made(made) if !made.is_operation() => made,
            other => {
                let found = other.type_name();
                return Err(format!("unsupported return type from ApplyConfiguration expression: {found}"));
            }
        };
        check_names(&made)?;
        Writer { left: MAX_CEL_MADE, is_operation: false }.object(&made, 0)
    }

    /// Evaluates the expression of a JSON patch, whose text is `source`, to its operations.
    ///
    /// # Errors
    /// The message of kube-apiserver.
    pub fn operations(
        &self,
        named: Named<'_>,
        program: &Program,
        source: &str,
    ) -> Result<Vec<Value>, String> {
        let parts = self.parts(named);
        let list = self.value(&parts, program, source)?;
        let wrong =
            |what: &str| Err(format!("type mismatch: JSONPatchType.expression should evaluate to {what}"));
        let Some(items) = list.items() else { return wrong("array") };
        let mut writer = Writer { left: MAX_CEL_MADE, is_operation: true };
        let mut operations = Vec::with_capacity(items.len());
        for item in &items {
            match item {
                Val::Made(made) if made.is_operation() => operations.push(writer.operation(made)?),
                other => {
                    return wrong(&format!("array of JSONPatch, got element of {}", other.type_name()));
                }
            }
        }
        if work::is_exceeded() { Err(failed(source, &CANCELLED)) } else { Ok(operations) }
    }

    fn value<'v>(
        &'v self,
        parts: &[(Val<'v>, Val<'v>)],
        program: &Program,
        source: &str,
    ) -> Result<Val<'v>, String> {
        self.with(parts, program).map_err(|why| if why == OUT_OF_BUDGET { why } else { failed(source, &why) })
    }
}

fn failed(source: &str, why: &str) -> String {
    format!("expression '{source}' resulted in error: {why}")
}

/// Checks that the type of each object has the name of the path to it: what is in the field `spec` of an `Object` is an `Object.spec`.
fn check_names(made: &Rc<Made<'_>>) -> Result<(), String> {
    let mut found = Vec::new();
    names(&Val::Made(made.clone()), &made.name, &mut found);
    if work::is_exceeded() {
        return Err(CANCELLED.into_owned());
    }
    if found.is_empty() { Ok(()) } else { Err(format!("type mismatch: {}", found.join("\n"))) }
}

fn names(value: &Val<'_>, path: &str, found: &mut Vec<String>) {
    if found.len() >= MAX_CEL_PROBLEMS || work::is_exceeded() {
        return;
    }
    // A value can contain another one many times.
    work::count(1);
    match value {
        Val::Made(made) => {
            work::text(path.len());
            if *made.name != *path {
                let name = &made.name;
                found.push(format!(
                    "unexpected type name \"{name}\", expected \"{path}\", which matches field name path from root Object type"
                ));
            }
            for (field, value) in made.fields.iter() {
                names(value, &format!("{path}.{field}"), found);
            }
        }
        // The path has no steps for items of lists and values of maps.
        Val::List(items) => items.iter().for_each(|item| names(item, path, found)),
        Val::Map(entries) => entries.iter().for_each(|(_, value)| names(value, path, found)),
        Val::Optional(Some(inner)) => names(inner, path, found),
        _ => {}
    }
}

/// Writes values as JSON.
struct Writer {
    /// How many bytes may still be written.
    left: usize,
    /// Whether numbers are written as in an operation of a JSON patch, which has floating point numbers only.
    is_operation: bool,
}

/// Size that a value is counted with, beside its text.
const VALUE: usize = 16;
/// The largest integer up to which floating point numbers have all integers.
const EXACT: i64 = (1 << 53) - 1;

impl Writer {
    fn take(&mut self, bytes: usize) -> Result<(), String> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| CANCELLED.into_owned())?;
        Ok(())
    }

    fn operation(&mut self, made: &Rc<Made<'_>>) -> Result<Value, String> {
        let mut operation = Map::new();
        for field in ["op", "path"] {
            operation.insert(field.to_owned(), self.value(&made.read(field), 0)?);
        }
        for field in ["from", "value"] {
            if let Some(value) = made.fields.get(field) {
                if let Val::Made(inner) = value {
                    check_names(inner)?;
                }
                operation.insert(field.to_owned(), self.value(value, 0)?);
            }
        }
        Ok(Value::Object(operation))
    }

    fn object(&mut self, made: &Made<'_>, depth: usize) -> Result<Value, String> {
        if made.is_operation() {
            return self.refuse("JSONPatch");
        }
        let mut fields = Map::new();
        for (name, value) in made.fields.iter() {
            self.take(name.len())?;
            fields.insert(name.to_string(), self.value(value, depth + 1)?);
        }
        Ok(Value::Object(fields))
    }

    fn refuse<T>(&self, what: &str) -> Result<T, String> {
        Err(if self.is_operation {
            format!(
                "JSONPath valueExpression evaluated to a type that could not marshal to JSON: unsupported type '{what}'"
            )
        } else {
            "invalid return type: *dynamic.ObjectVal".to_owned()
        })
    }

    fn value(&mut self, value: &Val<'_>, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err(CANCELLED.into_owned());
        }
        self.take(VALUE)?;
        Ok(match value {
            Val::Null | Val::Optional(None) => Value::Null,
            Val::Bool(flag) => Value::Bool(*flag),
            Val::Int(number) if self.is_operation && !(-EXACT..=EXACT).contains(number) => {
                Value::String(number.to_string())
            }
            Val::Int(number) => Value::Number((*number).into()),
            Val::Uint(number) if self.is_operation && *number > EXACT.unsigned_abs() => {
                Value::String(number.to_string())
            }
            Val::Uint(number) => Value::Number((*number).into()),
            Val::Double(number) if number.fract() == 0.0 && number.abs() <= EXACT as f64 => {
                Value::Number((*number as i64).into())
            }
            Val::Double(number) => match Number::from_f64(*number) {
                Some(number) => Value::Number(number),
                None => return self.refuse("double"),
            },
            Val::Text(text) => self.text(text.to_string())?,
            Val::Bytes(bytes) => self.text(STANDARD.encode(bytes))?,
            Val::Duration(nanos) => self.text(show_duration(*nanos))?,
            Val::Timestamp(at) => self.text(show_timestamp(at))?,
            Val::List(items) => Value::Array(self.list(items.iter(), depth)?),
            Val::Map(entries) => self.map(entries, depth)?,
            Val::Array(items, _) => {
                let items: Vec<Val<'_>> = items.iter().map(|item| Val::of(item, None)).collect();
                Value::Array(self.list(items.iter(), depth)?)
            }
            Val::Object(map, _) => {
                let mut fields = Map::new();
                for (name, value) in *map {
                    self.take(name.len())?;
                    fields.insert(name.clone(), self.value(&Val::of(value, None), depth + 1)?);
                }
                Value::Object(fields)
            }
            Val::Optional(Some(inner)) => self.value(inner, depth + 1)?,
            Val::Made(made) => self.object(made, depth)?,
            other => return self.refuse(other.type_name()),
        })
    }

    fn text(&mut self, text: String) -> Result<Value, String> {
        self.take(text.len())?;
        Ok(Value::String(text))
    }

    fn list<'v, 'a: 'v>(
        &mut self,
        items: impl Iterator<Item = &'v Val<'a>>,
        depth: usize,
    ) -> Result<Vec<Value>, String> {
        items.map(|item| self.value(item, depth + 1)).collect()
    }

    fn map(&mut self, entries: &[(Val<'_>, Val<'_>)], depth: usize) -> Result<Value, String> {
        let mut fields = Map::new();
        for (key, value) in entries {
            let Val::Text(name) = key else { return self.refuse(key.type_name()) };
            self.take(name.len())?;
            fields.insert(name.to_string(), self.value(value, depth + 1)?);
        }
        Ok(Value::Object(fields))
    }
}
