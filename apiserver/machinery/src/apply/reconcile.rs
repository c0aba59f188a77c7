//! Adjustment of field sets to a changed schema, in which a granular map or list has become atomic.
//!
//! The reverse change needs no adjustment: the owner of the atomic value owns the field, and owns fields below it once
//! they change.

use super::path::PathElement;
use super::set::{FieldSet, Node};
use super::types::{MapAtom, Type};
use crate::schema::ListType;

/// Returns `set` adjusted to `ty`, or `None` if it needs no change.
pub fn reconcile(set: &FieldSet, ty: Type<'_>) -> Option<FieldSet> {
    let list = ty.as_list();
    children(set, ty.as_map().as_ref(), list.map(|list| list.element))
}

fn reconcile_node(node: &Node, ty: Type<'_>) -> Option<Node> {
    let (map, list) = (ty.as_map(), ty.as_list());
    let atomic = match (&map, &list) {
        // A type that is deduced from the value cannot have changed.
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
        // Fields that the schema does not declare stay in the set.
        if let Some(child) = ty.and_then(|ty| reconcile_node(child, ty)) {
            changed.get_or_insert_with(|| set.clone()).set_node(element.clone(), child);
        }
    }
    changed
}
