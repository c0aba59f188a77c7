//! Functions of the language itself: sizes, types, conversions and optionals.

use super::convert::convert;
use crate::values::{Outcome, Val};

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    Some(match (name, args) {
        ("size", [value]) => match value {
            Val::Text(text) => Ok(Val::Int(text.chars().count() as i64)),
            Val::Bytes(bytes) => Ok(Val::Int(bytes.len() as i64)),
            Val::Array(list, _) => Ok(Val::Int(list.len() as i64)),
            Val::List(list) => Ok(Val::Int(list.len() as i64)),
            Val::Object(map, _) => Ok(Val::Int(map.len() as i64)),
            Val::Map(map) => Ok(Val::Int(map.len() as i64)),
            _ => return None,
        },
        ("type", [value]) => Ok(Val::Type(value.type_name())),
        ("dyn", [value]) => Ok(value.clone()),
        ("int" | "uint" | "double" | "string" | "bool" | "bytes" | "duration" | "timestamp", [value]) => {
            convert(name, value)
        }
        ("hasValue", [Val::Optional(inner)]) => Ok(Val::Bool(inner.is_some())),
        ("value", [Val::Optional(inner)]) => match inner {
            Some(value) => Ok((**value).clone()),
            None => Err("optional.none() dereference".into()),
        },
        ("optional.of", [value]) => Ok(Val::some(value.clone())),
        ("optional.none", []) => Ok(Val::Optional(None)),
        ("optional.ofNonZeroValue", [value]) => {
            Ok(if is_zero(value) { Val::Optional(None) } else { Val::some(value.clone()) })
        }
        ("optional.unwrap" | "unwrapOpt", [list @ (Val::List(_) | Val::Array(..))]) => {
            let mut found = Vec::new();
            for item in list.items().unwrap_or_default() {
                match item {
                    Val::Optional(inner) => found.extend(inner.map(|value| (*value).clone())),
                    other => {
                        let kind = other.type_name();
                        return Some(Err(format!("value {kind} is not optional").into()));
                    }
                }
            }
            Ok(Val::list(found))
        }
        _ => return None,
    })
}

fn is_zero(value: &Val<'_>) -> bool {
    match value {
        Val::Null => true,
        Val::Bool(flag) => !flag,
        Val::Int(n) | Val::Duration(n) => *n == 0,
        Val::Uint(n) => *n == 0,
        Val::Double(n) => *n == 0.0,
        Val::Text(text) => text.is_empty(),
        Val::Bytes(bytes) => bytes.is_empty(),
        Val::Made(made) => made.fields.is_empty(),
        other => matches!(call("size", std::slice::from_ref(other)), Some(Ok(Val::Int(0)))),
    }
}
