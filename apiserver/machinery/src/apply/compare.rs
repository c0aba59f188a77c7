//! Comparison of two objects by field.

use std::collections::BTreeMap;

use serde_json::Value;

use super::items::path_element;
use super::path::{PathElement, compare_values};
use super::reset::Reset;
use super::set::FieldSet;
use super::types::{Atom, ListAtom, MapAtom, Type};
use crate::schema::ListType;

/// The fields that differ between two objects.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparison {
    /// Fields that only the old object has.
    pub removed: FieldSet,
    /// Fields with different values.
    pub modified: FieldSet,
    /// Fields that only the new object has.
    pub added: FieldSet,
}

impl Comparison {
    /// Compares `old` with `new`, both of type `ty`. The error is a message.
    pub fn of(old: &Value, new: &Value, ty: Type<'_>) -> Result<Self, String> {
        let mut walk = Walk { path: Vec::new(), result: Self::default() };
        walk.compare(Some(old), Some(new), ty)?;
        Ok(walk.result)
    }

    /// Returns the comparison without the fields that the strategy resets.
    pub fn without(self, reset: Reset<'_>) -> Self {
        Self {
            removed: reset.filter(self.removed),
            modified: reset.filter(self.modified),
            added: reset.filter(self.added),
        }
    }

    /// Returns the added and modified fields.
    pub fn changed(&self) -> FieldSet {
        let mut changed = self.modified.clone();
        changed.extend(&self.added);
        changed
    }
}

struct Walk {
    path: Vec<PathElement>,
    result: Comparison,
}

impl Walk {
    fn compare(&mut self, old: Option<&Value>, new: Option<&Value>, ty: Type<'_>) -> Result<(), String> {
        if old == new {
            return Ok(());
        }
        let (old_atom, new_atom) = (ty.atom(old), ty.atom(new));
        let leaf = match (old, new) {
            (_, None) => self.by_atom(old_atom, old, new)?,
            (None, _) => self.by_atom(new_atom, old, new)?,
            _ if old_atom.same_sort(&new_atom) => self.by_atom(new_atom, old, new)?,
            _ => {
                self.by_atom(old_atom, old, new)?;
                self.by_atom(new_atom, old, new)?
            }
        };
        if !leaf {
            if old.is_none() {
                self.result.added.insert(&self.path);
            } else if new.is_none() {
                self.result.removed.insert(&self.path);
            }
        }
        Ok(())
    }

    /// Compares by the sort of the value. Returns whether it compared a leaf.
    fn by_atom(&mut self, atom: Atom<'_>, old: Option<&Value>, new: Option<&Value>) -> Result<bool, String> {
        match atom {
            Atom::Scalar(_) => {}
            Atom::List(list) => {
                let (old, new) = (items(old), items(new));
                if !(list.list_type == ListType::Atomic || old.is_empty() && new.is_empty()) {
                    self.list(old, new, &list)?;
                    return Ok(false);
                }
            }
            Atom::Map(map) => {
                let (old, new) = (old.and_then(Value::as_object), new.and_then(Value::as_object));
                let empty =
                    |map: Option<&serde_json::Map<String, Value>>| map.is_none_or(|map| map.is_empty());
                if !(map.atomic || empty(old) && empty(new)) {
                    self.map(old, new, &map)?;
                    return Ok(false);
                }
            }
        }
        self.leaf(old, new);
        Ok(true)
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) {
        match (old, new) {
            (None, _) => self.result.added.insert(&self.path),
            (_, None) => self.result.removed.insert(&self.path),
            (Some(old), Some(new)) if compare_values(old, new).is_ne() => {
                self.result.modified.insert(&self.path);
            }
            _ => {}
        }
    }

    fn map(
        &mut self,
        old: Option<&serde_json::Map<String, Value>>,
        new: Option<&serde_json::Map<String, Value>>,
        map: &MapAtom<'_>,
    ) -> Result<(), String> {
        let only_new =
            new.into_iter().flatten().filter(|(name, _)| old.is_none_or(|old| !old.contains_key(*name)));
        let names = old.into_iter().flatten().map(|(name, _)| name).chain(only_new.map(|(name, _)| name));
        for name in names {
            let ty = map.lookup(name).unwrap_or(Type::Deduced);
            self.path.push(PathElement::field(name));
            let result =
                self.compare(old.and_then(|map| map.get(name)), new.and_then(|map| map.get(name)), ty);
            self.path.pop();
            result?;
        }
        Ok(())
    }

    fn list(&mut self, old: &[Value], new: &[Value], list: &ListAtom<'_>) -> Result<(), String> {
        let mut pairs: BTreeMap<PathElement, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        for (index, item) in old.iter().enumerate() {
            pairs.entry(self.element(list, index, item)?).or_default().0.push(item);
        }
        for (index, item) in new.iter().enumerate() {
            pairs.entry(self.element(list, index, item)?).or_default().1.push(item);
        }
        for (element, (old, new)) in pairs {
            self.path.push(element);
            let result = self.item(&old, &new, list.element);
            self.path.pop();
            result?;
        }
        Ok(())
    }

    fn element(&self, list: &ListAtom<'_>, index: usize, item: &Value) -> Result<PathElement, String> {
        path_element(list, index, item)
            .map_err(|message| format!("{}: element {index}: {message}", super::path::display(&self.path)))
    }

    /// Compares an item. Items that occur more than once are compared as a whole.
    fn item(&mut self, old: &[&Value], new: &[&Value], ty: Type<'_>) -> Result<(), String> {
        match (old, new) {
            ([] | [_], [] | [_]) => self.compare(old.first().copied(), new.first().copied(), ty)?,
            ([_, _, ..], [_, _, ..]) => {
                if old != new {
                    self.result.modified.insert(&self.path);
                }
            }
            ([_, _, ..], rest) => {
                if let Some(item) = rest.first() {
                    self.compare(None, Some(item), ty)?;
                }
                self.result.removed.insert(&self.path);
            }
            (rest, _) => {
                if let Some(item) = rest.first() {
                    self.compare(Some(item), None, ty)?;
                }
                self.result.added.insert(&self.path);
            }
        }
        Ok(())
    }
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
