//! Validation that a value matches its type, which precedes each merge.

use std::collections::BTreeSet;

use serde_json::Value;

use super::items::path_element;
use super::path::{self, PathElement};
use super::types::{Atom, ListAtom, MapAtom, ScalarType, Type};
use crate::go::{go_syntax, go_text, go_type};
use crate::schema::ListType;

/// Checks `value` against the type `ty`. Stored objects may have duplicate items (`allow_duplicates`).
///
/// The error is one message, or `errors:` followed by one line for each error.
pub fn validate(value: &Value, ty: Type<'_>, allow_duplicates: bool) -> Result<(), String> {
    let mut check = Check { allow_duplicates, path: Vec::new(), errors: Vec::new() };
    check.value(value, ty);
    match check.errors.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("errors:\n  {}", many.join("\n  "))),
    }
}

struct Check {
    allow_duplicates: bool,
    path: Vec<PathElement>,
    errors: Vec<String>,
}

impl Check {
    fn error(&mut self, message: &str) {
        let path = path::display(&self.path);
        self.errors.push(if path.is_empty() { message.to_owned() } else { format!("{path}: {message}") });
    }

    fn value(&mut self, value: &Value, ty: Type<'_>) {
        if value.is_null() {
            return;
        }
        match ty.atom(Some(value)) {
            Atom::Scalar(scalar) => self.scalar(value, scalar),
            Atom::List(list) => self.list(value, &list),
            Atom::Map(map) => self.map(value, &map),
        }
    }

    fn scalar(&mut self, value: &Value, scalar: ScalarType) {
        let message = match (scalar, value) {
            (ScalarType::Numeric, Value::Number(_))
            | (ScalarType::Text, Value::String(_))
            | (ScalarType::Boolean, Value::Bool(_))
            | (ScalarType::Any, Value::Number(_) | Value::String(_) | Value::Bool(_)) => return,
            (ScalarType::Numeric, _) => format!("expected numeric (int or float), got {}", go_type(value)),
            (ScalarType::Text, _) => {
                format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_syntax(value))
            }
            (ScalarType::Boolean, _) => format!("expected boolean, got &{{{}}}", go_text(value)),
            (ScalarType::Any, _) => format!("expected any scalar, got &{{{}}}", go_text(value)),
        };
        self.error(&message);
    }

    fn list(&mut self, value: &Value, list: &ListAtom<'_>) {
        let Value::Array(items) = value else {
            return self.error(&format!("expected list, got &{{{}}}", go_text(value)));
        };
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            let element = match path_element(list, index, item) {
                Ok(element) => element,
                // Items after this one cannot be named either.
                Err(message) => return self.error(&format!("element {index}: {message}")),
            };
            if list.list_type != ListType::Atomic && !self.allow_duplicates && !seen.insert(element.clone()) {
                self.error(&format!("duplicate entries for key {element}"));
            }
            self.path.push(element);
            self.value(item, list.element);
            self.path.pop();
        }
    }

    fn map(&mut self, value: &Value, map: &MapAtom<'_>) {
        let Value::Object(fields) = value else {
            return self.error(&format!("expected map, got &{{{}}}", go_text(value)));
        };
        for (name, field) in fields {
            self.path.push(PathElement::field(name));
            match map.lookup(name) {
                Some(ty) => self.value(field, ty),
                None => {
                    self.error("field not declared in schema");
                    self.path.pop();
                    return;
                }
            }
            self.path.pop();
        }
    }
}
