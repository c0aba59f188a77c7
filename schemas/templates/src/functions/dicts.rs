//! Maps. `set`, `unset` and the functions of [`super::merging`] change the map that they get.

use std::collections::BTreeMap;

use super::casting::strval;
use super::{Arguments, Function, Parameter, function, variadic};
use crate::error::Outcome;
use crate::values::{Element, List, Map, MapType, Value, Work, check_depth};
use Parameter::{Any, Text};

pub(super) const FUNCTIONS: &[Function] = &[
    variadic("dict", &[], Any, dict),
    function("get", &[Parameter::Map, Text], |_, a| {
        Ok(a.map(0).get(a.text(1)).unwrap_or_else(|| Value::text("")))
    }),
    function("set", &[Parameter::Map, Text, Any], |work, a| {
        work.set(&a.map(0), a.text(1).into(), a.value(2).clone())?;
        Ok(a.value(0).clone())
    }),
    function("unset", &[Parameter::Map, Text], |_, a| {
        a.map(0).remove(a.text(1));
        Ok(a.value(0).clone())
    }),
    function("hasKey", &[Parameter::Map, Text], |_, a| Ok(Value::Bool(a.map(0).get(a.text(1)).is_some()))),
    variadic("pluck", &[Text], Parameter::Map, |work, a| {
        let maps = a.from(1).iter().filter_map(as_map);
        let values = maps.filter_map(|map| map.get(a.text(0))).collect();
        work.list(Element::Any, values)
    }),
    variadic("keys", &[], Parameter::Map, keys),
    function("values", &[Parameter::Map], |work, a| {
        let values = work.entries(&a.map(0))?.into_iter().map(|(_, value)| value).collect();
        work.list(Element::Any, values)
    }),
    variadic("pick", &[Parameter::Map], Text, |work, a| selected(work, a, true)),
    variadic("omit", &[Parameter::Map], Text, |work, a| selected(work, a, false)),
    variadic("dig", &[], Any, dig),
    function("deepCopy", &[Any], deep_copy),
    function("mustDeepCopy", &[Any], deep_copy),
];

pub(super) fn as_map(value: &Value) -> Option<&Map> {
    match value {
        Value::Map(map) => Some(map),
        _ => None,
    }
}

/// A map of keys and values in turn. The last key may be without a value.
fn dict(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    let mut entries = BTreeMap::new();
    for pair in a.all().chunks(2) {
        let key = strval(work, &pair[0])?;
        let value = pair.get(1).cloned().unwrap_or_else(|| Value::text(""));
        entries.insert(key.into(), value);
    }
    work.map(MapType::Any, entries)
}

fn keys(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    let mut keys = Vec::new();
    for map in a.all().iter().filter_map(as_map) {
        keys.extend(work.entries(map)?.into_iter().map(|(key, _)| Value::Text(key)));
    }
    work.list(Element::Text, keys)
}

/// The entries with one of the keys, or all others.
fn selected(work: &mut Work, a: &Arguments, wanted: bool) -> Outcome<Value> {
    let mut entries = BTreeMap::new();
    for (key, value) in work.entries(&a.map(0))? {
        work.steps(a.from(1).len())?;
        let named = a.from(1).iter().any(|name| matches!(name, Value::Text(name) if *name == key));
        if named == wanted {
            entries.insert(key, value);
        }
    }
    work.map(MapType::Any, entries)
}

/// The value below the keys, or the default, which comes before the map.
fn dig(_: &mut Work, a: &Arguments) -> Outcome<Value> {
    let (keys, default, map) = match a.all() {
        [keys @ .., default, map] if !keys.is_empty() => (keys, default, map),
        _ => return Err("it needs at least three arguments".into()),
    };
    let mut current = map.clone();
    for key in keys {
        let (Value::Map(map), Value::Text(key)) = (&current, key) else {
            return Err(format!("{} with {} as key", current.type_name(), key.type_name()).into());
        };
        if map.values() != MapType::Any {
            return Err(format!("a value of type {} is not a map of any values", current.type_name()).into());
        }
        match map.get(key) {
            Some(value) => current = value,
            None => return Ok(default.clone()),
        }
    }
    Ok(current)
}

fn deep_copy(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    if a.value(0).is_nothing() {
        return Err("nil cannot be copied".into());
    }
    copy(work, a.value(0), 0)
}

fn copy(work: &mut Work, value: &Value, depth: usize) -> Outcome<Value> {
    check_depth(depth)?;
    work.steps(1)?;
    match value {
        Value::List(list) if list.is_nil() => Ok(Value::List(List::nil(list.element()))),
        Value::List(list) => {
            let mut items = Vec::with_capacity(list.items().len());
            for item in list.items() {
                items.push(copy(work, item, depth + 1)?);
            }
            work.list(list.element(), items)
        }
        Value::Map(map) if !map.is_nil() => {
            let mut entries = BTreeMap::new();
            for (key, value) in work.entries(map)? {
                entries.insert(key, copy(work, &value, depth + 1)?);
            }
            work.map(map.values(), entries)
        }
        other => Ok(other.clone()),
    }
}
