//! Properties of a node of the syntax tree during estimation: type, cost, and size of its value.

use std::collections::HashMap;

use super::sizes::{Place, Size};
use crate::syntax::ast::Expr;
use crate::types::Type;

/// The types that the checker found, by the address of the node in its tree.
pub(crate) type Types<'s> = HashMap<usize, Type<'s>>;

/// Returns the key of a node in [`Types`].
pub(crate) fn key(expr: &Expr) -> usize {
    std::ptr::from_ref(expr) as usize
}

/// The sizes of the entries of a list or map that the rule creates.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) list: bool,
    pub(super) key: Size,
    pub(super) value: Size,
}

impl Entry {
    pub(super) fn union(self, other: Entry) -> Entry {
        Entry { list: self.list, key: self.key.union(other.key), value: self.value.union(other.value) }
    }
}

/// The estimate for a node.
#[derive(Debug, Clone, Default)]
pub(super) struct Node<'s> {
    pub(super) cost: u64,
    /// The size of its value, or `None` if nothing limits it.
    pub(super) size: Option<Size>,
    pub(super) entry: Option<Entry>,
    /// The value of a literal integer, where negative ones count as 0.
    pub(super) literal: Option<u64>,
    /// The place of its value in the object that the rule validates.
    pub(super) place: Option<Place<'s>>,
}

impl Node<'_> {
    pub(super) fn size(&self) -> Size {
        self.size.unwrap_or(Size::UNKNOWN)
    }
}
