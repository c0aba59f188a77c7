//! Maps with strings as keys. All values that have a map see its changes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::Value;
use crate::values::Bytes;

/// The type of a map's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MapType {
    Any,
    Text,
}

type Entries = RefCell<BTreeMap<Bytes, Value>>;

/// A map.
#[derive(Clone)]
pub(crate) struct Map {
    values: MapType,
    /// `None` is Go's nil map, which is empty and cannot be changed.
    entries: Option<Rc<Entries>>,
}

/// A map may contain itself, so its entries are not printed.
impl std::fmt::Debug for Map {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "map of {}", self.len())
    }
}

impl Map {
    /// A map of the entries. Only [`super::Work`] makes maps, because it counts them and empties them in the end.
    pub(crate) fn new(values: MapType, entries: BTreeMap<Bytes, Value>) -> Map {
        Map { values, entries: Some(Rc::new(RefCell::new(entries))) }
    }

    /// Go's nil map.
    pub(crate) fn nil() -> Map {
        Map { values: MapType::Any, entries: None }
    }

    pub(crate) fn values(&self) -> MapType {
        self.values
    }

    pub(crate) fn is_nil(&self) -> bool {
        self.entries.is_none()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.as_ref().map_or(0, |entries| entries.borrow().len())
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<Value> {
        self.entries.as_ref()?.borrow().get(key).cloned()
    }

    /// The entries as they are now, sorted by their keys.
    pub(crate) fn entries(&self) -> Vec<(Bytes, Value)> {
        let Some(entries) = &self.entries else { return Vec::new() };
        entries.borrow().iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// Sets an entry. Returns whether that is possible: a nil map has none.
    pub(crate) fn set(&self, key: Bytes, value: Value) -> bool {
        let Some(entries) = &self.entries else { return false };
        let before = entries.borrow_mut().insert(key, value);
        // The old value is dropped when the map is no longer borrowed: it may be the map itself.
        drop(before);
        true
    }

    pub(crate) fn remove(&self, key: &[u8]) {
        if let Some(entries) = &self.entries {
            let before = entries.borrow_mut().remove(key);
            drop(before);
        }
    }

    /// Removes all entries, which ends all circles through this map.
    pub(crate) fn clear(&self) {
        if let Some(entries) = &self.entries {
            let before = std::mem::take(&mut *entries.borrow_mut());
            drop(before);
        }
    }

    /// Whether both are the same map.
    pub(crate) fn is_same(&self, other: &Map) -> bool {
        match (&self.entries, &other.entries) {
            (Some(one), Some(two)) => Rc::ptr_eq(one, two),
            (None, None) => true,
            _ => false,
        }
    }

    pub(super) fn type_name(&self) -> &'static str {
        match self.values {
            MapType::Any => "map[string]interface {}",
            MapType::Text => "map[string]string",
        }
    }
}
