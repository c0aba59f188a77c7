//! What is known of a node of the syntax tree: its type, what it costs, and how large its value is.

use std::collections::HashMap;

use super::sizes::{Place, Size};
use crate::syntax::ast::Expr;
use crate::types::Type;

/// The types that checking found, by the address of the node in its tree.
pub(crate) type Types<'s> = HashMap<usize, Type<'s>>;

/// The key of a node in [`Types`].
pub(crate) fn key(expr: &Expr) -> usize {
    std::ptr::from_ref(expr) as usize
}

/// Sizes of the entries of a list or map that the rule makes.
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

/// What is known of a node.
#[derive(Debug, Clone, Default)]
pub(super) struct Node<'s> {
    pub(super) cost: u64,
    /// Of its value; `None` where nothing bounds it.
    pub(super) size: Option<Size>,
    pub(super) entry: Option<Entry>,
    /// Its value, when it is a literal integer; 0 for a negative one.
    pub(super) literal: Option<u64>,
    /// Where in the object its value stands.
    pub(super) place: Option<Place<'s>>,
}

impl Node<'_> {
    pub(super) fn size(&self) -> Size {
        self.size.unwrap_or(Size::UNKNOWN)
    }
}
