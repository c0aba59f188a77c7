//! Field sets and schemas that changed under them: a map or list that was granular and is one unit now.
//!
//! The reverse needs nothing: who owned the unit owns the field, and what is below as soon as it changes.

use super::path::PathElement;
use super::set::{FieldSet, Node};
use super::types::{MapAtom, Type};
use crate::schema::ListType;

/// `set` in line with `ty`; `None` when it is already.
pub fn reconcile(set: &FieldSet, ty: Type<'_>) -> Option<FieldSet> {
    let list = ty.as_list();
    children(set, ty.as_map().as_ref(), list.map(|list| list.element))
}

fn reconcile_node(node: &Node, ty: Type<'_>) -> Option<Node> {
    let (map, list) = (ty.as_map(), ty.as_list());
    let atomic = match (&map, &list) {
        // A type that follows from the value was never anything else.
        (Some(_), Some(_)) | (None, None) => false,
        (Some(map), None) => map.atomic,
        (None, Some(list)) => list.list_type == ListType::Atomic,
    };
    if atomic && !node.children.is_empty() {
        return Some(Node { member: true, children: FieldSet::default() });
    }
    let children = children(&node.children, map.as_ref(), list.map(|list| list.element))?;
    Some(Node { member: node.member, children })
}

fn children(set: &FieldSet, map: Option<&MapAtom<'_>>, item: Option<Type<'_>>) -> Option<FieldSet> {
    let mut changed: Option<FieldSet> = None;
    for (element, child) in set.nodes() {
        let ty = match element {
            PathElement::Field(name) => map.and_then(|map| map.lookup(name)),
            _ => item,
        };
        // Fields that are not declared any more stay as they are.
        if let Some(child) = ty.and_then(|ty| reconcile_node(child, ty)) {
            changed.get_or_insert_with(|| set.clone()).set_node(element.clone(), child);
        }
    }
    changed
}
