//! The set of fields of an object, and removal of fields from an object.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::items::path_element;
use super::path::PathElement;
use super::set::{FieldSet, Node};
use super::types::{Atom, ListAtom, MapAtom, Type};
use crate::schema::ListType;

/// Returns the fields that a manager owns by applying `value`: leaves, items, and maps that are empty or null.
pub fn field_set(value: &Value, ty: Type<'_>) -> FieldSet {
    let mut root = Node::default();
    collect(value, ty, &mut root);
    root.children
}

fn collect(value: &Value, ty: Type<'_>, node: &mut Node) {
    match ty.atom(Some(value)) {
        Atom::Scalar(_) => node.member = true,
        Atom::List(list) if list.list_type == ListType::Atomic => node.member = true,
        Atom::List(list) => collect_items(value, &list, node),
        Atom::Map(map) if map.atomic => node.member = true,
        Atom::Map(map) => collect_fields(value, &map, node),
    }
}

fn collect_items(value: &Value, list: &ListAtom<'_>, node: &mut Node) {
    let Value::Array(items) = value else { return };
    let mut count: BTreeMap<PathElement, (usize, &Value)> = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        if let Ok(element) = path_element(list, index, item) {
            count.entry(element).or_insert((0, item)).0 += 1;
        }
    }
    for (element, (times, item)) in count {
        let mut child = Node { member: true, ..Node::default() };
        // Duplicate items are owned as a whole.
        if times == 1 {
            collect(item, list.element, &mut child);
        }
        node.children.set_node(element, child);
    }
}

fn collect_fields(value: &Value, map: &MapAtom<'_>, node: &mut Node) {
    let Value::Object(fields) = value else { return };
    for (name, field) in fields {
        let declared = map.field(name);
        let Some(ty) = declared.or(map.element) else { continue };
        let mut child = Node::default();
        collect(field, ty, &mut child);
        let empty = field.is_null() || field.as_object().is_some_and(Map::is_empty);
        child.member |= empty || declared.is_none();
        node.children.set_node(PathElement::field(name), child);
    }
}

/// Returns `value` without the fields in `set`. A list or map that becomes empty becomes null.
pub fn remove(value: &Value, set: &FieldSet, ty: Type<'_>) -> Value {
    match (ty.atom(Some(value)), value) {
        (Atom::Scalar(_), _) => value.clone(),
        (Atom::List(list), Value::Array(items)) if list.list_type != ListType::Atomic => {
            remove_items(items, set, &list)
        }
        (Atom::Map(map), Value::Object(fields)) if !map.atomic => remove_fields(fields, set, &map),
        _ => Value::Null,
    }
}

fn remove_items(items: &[Value], set: &FieldSet, list: &ListAtom<'_>) -> Value {
    let mut kept = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let node = path_element(list, index, item).ok().and_then(|element| set.node(&element));
        match node {
            Some(node) if node.member => {}
            Some(node) => kept.push(remove(item, &node.children, list.element)),
            None => kept.push(item.clone()),
        }
    }
    if kept.is_empty() { Value::Null } else { Value::Array(kept) }
}

fn remove_fields(fields: &Map<String, Value>, set: &FieldSet, map: &MapAtom<'_>) -> Value {
    let mut kept = Map::new();
    for (name, field) in fields {
        match set.node(&PathElement::field(name)) {
            Some(node) if node.member => {}
            Some(node) => {
                let ty = map.lookup(name).unwrap_or(Type::Deduced);
                kept.insert(name.clone(), remove(field, &node.children, ty));
            }
            None => {
                kept.insert(name.clone(), field.clone());
            }
        }
    }
    if kept.is_empty() { Value::Null } else { Value::Object(kept) }
}
