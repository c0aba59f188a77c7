//! Objects that expressions make.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::failure::Failure;
use super::nested::Nested;
use super::value::Val;
use super::work;
use crate::declared::{JSON_PATCH, OBJECT};

/// An object that an expression has made, for example by `Object.spec{replicas: 1}`.
#[derive(Debug)]
pub(crate) struct Made<'a> {
    /// The name of its type.
    pub name: Arc<str>,
    /// The fields that are set.
    pub fields: Nested<BTreeMap<Arc<str>, Val<'a>>>,
}

impl<'a> Made<'a> {
    /// Creates an object. An operation of a JSON patch has texts only, but for its value; an empty text counts as absent.
    ///
    /// # Errors
    /// cel-go's message.
    pub fn new(name: Arc<str>, mut fields: BTreeMap<Arc<str>, Val<'a>>) -> Result<Self, Failure> {
        work::count(fields.len() + 1);
        if &*name == JSON_PATCH {
            for (field, value) in &fields {
                match (&**field, value) {
                    ("value", _) | ("op" | "path" | "from", Val::Text(_)) => {}
                    ("op" | "path" | "from", other) => {
                        let found = go_type(other);
                        return Err(
                            format!("unexpected type {found} for JSONPatchType '{field}' field").into()
                        );
                    }
                    _ => return Err(format!("unexpected JSONPatchType field: {field}").into()),
                }
            }
            fields.retain(|field, value| {
                &**field == "value" || !matches!(value, Val::Text(text) if text.is_empty())
            });
        }
        let below = fields.values().map(Val::height).max();
        Ok(Self { name, fields: Nested::above(below, fields) })
    }

    /// Returns whether it is an operation of a JSON patch.
    pub fn is_operation(&self) -> bool {
        &*self.name == JSON_PATCH
    }

    /// Returns the name of its type, without the names of fields.
    pub fn type_name(&self) -> &'static str {
        if self.is_operation() { JSON_PATCH } else { OBJECT }
    }

    /// Returns the value of a field: null, or an empty text, if it is not set.
    pub fn read(&self, field: &str) -> Val<'a> {
        match self.fields.get(field) {
            Some(value) => value.clone(),
            None if self.is_operation() && field != "value" => Val::text(""),
            None => Val::Null,
        }
    }

    /// Compares the types and all fields.
    pub fn equals(&self, other: &Made<'_>) -> bool {
        self.name == other.name
            && self.fields.len() == other.fields.len()
            && self.fields.iter().zip(&*other.fields).all(|((a, one), (b, two))| a == b && one.equals(two))
    }
}

/// Returns the type by which Go holds a value.
fn go_type(value: &Val<'_>) -> &'static str {
    match value {
        Val::Bool(_) => "bool",
        Val::Int(_) => "int64",
        Val::Uint(_) => "uint64",
        Val::Double(_) => "float64",
        Val::Null => "structpb.NullValue",
        Val::Bytes(_) => "[]uint8",
        Val::List(_) => "[]ref.Val",
        Val::Map(_) => "map[ref.Val]ref.Val",
        Val::Array(..) => "[]interface {}",
        Val::Object(..) => "map[string]interface {}",
        other => other.type_name(),
    }
}
