//! The merge of an applied configuration into an object.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use super::items::path_element;
use super::path::PathElement;
use super::types::{Atom, ListAtom, MapAtom, Type};
use crate::schema::ListType;

/// Merges `config` into `live`, both of type `ty`. The error is a message.
pub fn merge(live: &Value, config: &Value, ty: Type<'_>) -> Result<Value, String> {
    Ok(values(Some(live), Some(config), ty)?.unwrap_or(Value::Null))
}

fn values(left: Option<&Value>, right: Option<&Value>, ty: Type<'_>) -> Result<Option<Value>, String> {
    // If only one side has a value, it is the result, and its items keep their order.
    let (Some(lhs), Some(rhs)) = (left, right) else { return Ok(left.or(right).cloned()) };
    match ty.atom(Some(rhs)) {
        Atom::List(list) if list.list_type != ListType::Atomic => {
            let (lhs, rhs) = (lhs.as_array(), rhs.as_array());
            let (lhs, rhs) = (lhs.map_or(&[][..], Vec::as_slice), rhs.map_or(&[][..], Vec::as_slice));
            if !(lhs.is_empty() && rhs.is_empty()) {
                let items = Lists::new(lhs, rhs, &list)?.merge()?;
                return Ok((!items.is_empty()).then_some(Value::Array(items)));
            }
        }
        Atom::Map(map) if !map.atomic => {
            let (lhs, rhs) = (lhs.as_object(), rhs.as_object());
            if lhs.is_some_and(|lhs| !lhs.is_empty()) || rhs.is_some_and(|rhs| !rhs.is_empty()) {
                return maps(lhs, rhs, &map).map(Some);
            }
        }
        _ => {}
    }
    Ok(Some(rhs.clone()))
}

fn maps(
    left: Option<&Map<String, Value>>,
    right: Option<&Map<String, Value>>,
    map: &MapAtom<'_>,
) -> Result<Value, String> {
    let mut merged = left.cloned().unwrap_or_default();
    for (name, rhs) in right.into_iter().flatten() {
        let ty = map.lookup(name).unwrap_or(Type::Deduced);
        let lhs = left.and_then(|left| left.get(name));
        match values(lhs, Some(rhs), ty).map_err(|error| format!(".{name}{error}"))? {
            Some(value) => merged.insert(name.clone(), value),
            None => merged.remove(name),
        };
    }
    Ok(Value::Object(merged))
}

/// The merge of two lists with identifiable items. Items of the applied list keep its order, and items that only the
/// object has keep their place relative to their neighbors.
struct Lists<'a> {
    list: &'a ListAtom<'a>,
    left: Vec<(PathElement, &'a Value)>,
    right: Vec<(PathElement, &'a Value)>,
    /// The items by element, or `None` for duplicate items, which are replaced instead of merged.
    left_by_element: BTreeMap<PathElement, Option<&'a Value>>,
    right_elements: BTreeSet<PathElement>,
    merged: BTreeSet<PathElement>,
    items: Vec<Value>,
}

impl<'a> Lists<'a> {
    fn new(left: &'a [Value], right: &'a [Value], list: &'a ListAtom<'a>) -> Result<Self, String> {
        let index = |items: &'a [Value]| -> Result<Vec<(PathElement, &'a Value)>, String> {
            let element = |(index, item)| {
                let element = path_element(list, index, item)
                    .map_err(|message| format!(": element {index}: {message}"))?;
                Ok((element, item))
            };
            items.iter().enumerate().map(element).collect()
        };
        let (left, right) = (index(left)?, index(right)?);
        let mut left_by_element = BTreeMap::new();
        for (element, item) in &left {
            left_by_element.entry(element.clone()).and_modify(|item| *item = None).or_insert(Some(*item));
        }
        let right_elements = right.iter().map(|(element, _)| element.clone()).collect();
        let items = Vec::with_capacity(left.len().max(right.len()));
        Ok(Self { list, left, right, left_by_element, right_elements, merged: BTreeSet::new(), items })
    }

    fn push(&mut self, left: Option<&Value>, right: Option<&Value>) -> Result<(), String> {
        if let Some(item) = values(left, right, self.list.element)? {
            self.items.push(item);
        }
        Ok(())
    }

    fn push_right(&mut self, element: &PathElement, right: &Value) -> Result<(), String> {
        self.merged.insert(element.clone());
        let left = self.left_by_element.get(element).copied().flatten();
        self.push(left, Some(right))
    }

    fn merge(mut self) -> Result<Vec<Value>, String> {
        let (left, right) = (std::mem::take(&mut self.left), std::mem::take(&mut self.right));
        let mut shared: VecDeque<&PathElement> = right
            .iter()
            .map(|(element, _)| element)
            .filter(|element| self.left_by_element.contains_key(*element))
            .collect();
        let mut next_shared = shared.pop_front();
        let (mut l, mut r) = (0, 0);
        while l < left.len() || r < right.len() {
            if let (Some((lhs, _)), Some((rhs, item))) = (left.get(l), right.get(r)) {
                if lhs == rhs {
                    self.push_right(rhs, item)?;
                    (l, r, next_shared) = (l + 1, r + 1, shared.pop_front());
                    continue;
                }
                if self.right_elements.contains(lhs) && next_shared.is_some_and(|next| next != lhs) {
                    // The applied list has the item at another place.
                    l += 1;
                    continue;
                }
            }
            if let Some((lhs, item)) = left.get(l) {
                if !self.right_elements.contains(lhs) {
                    self.push(Some(item), None)?;
                    l += 1;
                    continue;
                }
                if self.merged.contains(lhs) {
                    l += 1;
                }
            }
            if let Some((rhs, item)) = right.get(r) {
                self.push_right(rhs, item)?;
                r += 1;
                if next_shared == Some(rhs) {
                    next_shared = shared.pop_front();
                }
            }
        }
        Ok(self.items)
    }
}
