//! Lists: Go's slices, which are never changed here.

use std::sync::Arc;

use super::Value;
use crate::error::{Failure, Outcome};
use crate::limits;

/// The type of a list's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    Any,
    Text,
    Int,
    Lists,
}

/// A list.
#[derive(Debug, Clone)]
pub(crate) struct List {
    element: Element,
    /// `None` is Go's nil slice, which JSON has as null.
    items: Option<Arc<[Value]>>,
    depth: usize,
}

impl List {
    /// A list of the elements. Only [`super::Work`] makes lists, because it counts them.
    ///
    /// # Errors
    /// If lists are nested too deeply. What is dropped by recursion must not be deep.
    pub(crate) fn new(element: Element, items: Vec<Value>) -> Outcome<List> {
        let depth = 1 + items.iter().map(Value::depth).max().unwrap_or_default();
        if depth > limits::VALUE_DEPTH_MAX {
            return Err(Failure::Limit("nested lists", limits::VALUE_DEPTH_MAX as u64));
        }
        Ok(List { element, items: Some(items.into()), depth })
    }

    /// Go's nil slice.
    pub(crate) fn nil(element: Element) -> List {
        List { element, items: None, depth: 1 }
    }

    pub(crate) fn element(&self) -> Element {
        self.element
    }

    pub(crate) fn items(&self) -> &[Value] {
        self.items.as_deref().unwrap_or_default()
    }

    pub(crate) fn is_nil(&self) -> bool {
        self.items.is_none()
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    pub(super) fn type_name(&self) -> &'static str {
        match self.element {
            Element::Any => "[]interface {}",
            Element::Text => "[]string",
            Element::Int => "[]int",
            Element::Lists => "[][]interface {}",
        }
    }
}
