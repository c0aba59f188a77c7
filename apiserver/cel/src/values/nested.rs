//! How deeply the values that expressions make are nested.

use std::ops::Deref;

use super::value::Val;
use super::work;
use crate::limits::MAX_CEL_DEPTH;

/// What a list, a map or an object contains, with its height. Walks over values are recursive, also that which frees them.
#[derive(Debug)]
pub(crate) struct Nested<T> {
    height: usize,
    inside: T,
}

impl<T> Deref for Nested<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inside
    }
}

impl<T> Nested<T> {
    /// Puts a level above values, of which the highest has the height `below`.
    pub fn unlimited(below: Option<usize>, inside: T) -> Self {
        Self { height: 1 + below.unwrap_or_default(), inside }
    }

    /// Returns the height, which is 1 for what contains nothing that expressions made.
    pub fn height(&self) -> usize {
        self.height
    }
}

impl<T: Default> Nested<T> {
    /// Like [`Self::unlimited`], but what becomes too high is left out, and exceeds the work limit of the evaluation.
    pub fn above(below: Option<usize>, inside: T) -> Self {
        if below.is_some_and(|below| below >= MAX_CEL_DEPTH) {
            work::exceed();
            return Self::unlimited(None, T::default());
        }
        Self::unlimited(below, inside)
    }
}

impl Val<'_> {
    /// Returns the height in levels of lists, maps, optionals and objects that expressions made. The depth of the objects of a request is
    /// limited elsewhere.
    pub fn height(&self) -> usize {
        match self {
            Val::List(items) => items.height(),
            Val::Map(entries) => entries.height(),
            Val::Made(made) => made.fields.height(),
            Val::Optional(Some(inner)) => 1 + inner.height(),
            _ => 0,
        }
    }

    /// Returns the greatest height of the keys and values of a map.
    pub fn highest(entries: &[(Self, Self)]) -> Option<usize> {
        entries.iter().map(|(key, value)| key.height().max(value.height())).max()
    }
}
