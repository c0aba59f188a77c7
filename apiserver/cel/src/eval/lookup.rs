//! Lookup of variables, type names, fields and list items.

use std::borrow::Cow;
use std::rc::Rc;

use super::scope::Scope;
use crate::functions::show;
use crate::syntax::ast::Select;
use crate::values::{Outcome, Step, Subject, Val, child};

pub(super) fn ident<'a>(name: &str, scope: &Scope<'_, 'a>) -> Outcome<'a> {
    if let Some(value) = scope.find(name) {
        return Ok(value.clone());
    }
    const TYPES: [&str; 11] = [
        "bool",
        "int",
        "uint",
        "double",
        "string",
        "bytes",
        "list",
        "map",
        "null_type",
        "type",
        "optional_type",
    ];
    match TYPES.iter().find(|kind| **kind == name) {
        Some(kind) => Ok(Val::Type(kind)),
        None => Err(format!("no such attribute(s): {name}").into()),
    }
}

pub(super) fn field<'a>(target: &Val<'a>, select: &Select) -> Option<Val<'a>> {
    match target {
        Val::Object(map, schema) => {
            // Names of properties are escaped, keys of maps are not.
            let name = match schema {
                Some(schema) if schema.additional_properties.is_some() => &select.field,
                _ if map.contains_key(&*select.property) => &select.property,
                _ => &select.field,
            };
            let value = map.get(&**name)?;
            // A property that is null counts as absent.
            if value.is_null() && schema.is_some_and(|schema| schema.properties.contains_key(&**name)) {
                return None;
            }
            Some(Val::of(value, child(*schema, name)))
        }
        Val::Authority(authority) if &*select.field == "requestResource" => {
            let resource = authority.decider.request_resource();
            Some(Val::Authority(Rc::new(authority.then(Step::Subject(Subject::Resource(resource))))))
        }
        Val::Made(made) => made.fields.get(&*select.field).cloned(),
        Val::Map(_) => target.get(&Val::Text(Cow::Owned(select.field.to_string()))),
        _ => None,
    }
}

pub(super) fn index<'a>(target: &Val<'a>, key: &Val<'a>) -> Outcome<'a> {
    match target {
        Val::Array(..) | Val::List(_) => {
            let at = match key {
                Val::Int(n) => Some(*n),
                Val::Uint(n) => i64::try_from(*n).ok(),
                Val::Double(n) if n.fract() == 0.0 => Some(*n as i64),
                _ => None,
            };
            let Some(at) = at else {
                return Err(match key {
                    Val::Double(n) => format!("unsupported index value {n} in list").into(),
                    _ => format!("unsupported index type '{}' in list", key.type_name()).into(),
                });
            };
            let found = match target {
                Val::Array(list, schema) => usize::try_from(at)
                    .ok()
                    .and_then(|i| list.get(i))
                    .map(|value| Val::of(value, schema.and_then(|schema| schema.items.as_deref()))),
                Val::List(list) => usize::try_from(at).ok().and_then(|i| list.get(i)).cloned(),
                _ => None,
            };
            found.ok_or_else(|| format!("index out of bounds: {at}").into())
        }
        _ => target.get(key).ok_or_else(|| format!("no such key: {}", show(key)).into()),
    }
}
