//! Merges maps into the first one. Maps in maps are merged, too; lists and other values are kept or replaced as a whole.

use std::collections::BTreeMap;

use super::defaults::is_empty;
use super::dicts::as_map;
use super::{Arguments, Function, Parameter, variadic};
use crate::error::Outcome;
use crate::values::{Map, MapType, Value, Work, check_depth};

pub(super) const FUNCTIONS: &[Function] = &[
    variadic("merge", &[Parameter::Map], Parameter::Map, |work, a| merged(work, a, false)),
    variadic("mustMerge", &[Parameter::Map], Parameter::Map, |work, a| merged(work, a, false)),
    variadic("mergeOverwrite", &[Parameter::Map], Parameter::Map, |work, a| merged(work, a, true)),
    variadic("mustMergeOverwrite", &[Parameter::Map], Parameter::Map, |work, a| merged(work, a, true)),
];

fn merged(work: &mut Work, a: &Arguments, overwrite: bool) -> Outcome<Value> {
    let mut target = a.map(0);
    for source in a.from(1).iter().filter_map(as_map).filter(|source| !source.is_nil()) {
        if target.is_nil()
            && let Value::Map(map) = work.map(MapType::Any, BTreeMap::new())?
        {
            target = map;
        }
        merge(work, &target, source, overwrite, 0)?;
    }
    Ok(Value::Map(target))
}

fn merge(work: &mut Work, target: &Map, source: &Map, overwrite: bool, depth: usize) -> Outcome<()> {
    check_depth(depth)?;
    for (key, value) in work.entries(source)? {
        let before = target.get(&key);
        let replaces = overwrite || before.as_ref().is_none_or(is_empty);
        match (&before, &value) {
            (_, Value::Nil) if !overwrite => continue,
            (Some(Value::Map(inner)), Value::Map(value)) => {
                merge(work, inner, value, overwrite, depth + 1)?;
                if inner.len() > 0 {
                    continue;
                }
            }
            _ if !replaces => continue,
            _ => {}
        }
        if target.values() == MapType::Text && source.values() != MapType::Text {
            return Err("a map of strings can only have strings".into());
        }
        work.set(target, key, value)?;
    }
    Ok(())
}
