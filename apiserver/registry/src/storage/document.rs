//! An object for the store: serialized once, with a gap for the revision, which is only known at the commit.

use bytes::Bytes;
use kinds::definition::Definition;
use kinds::json::Order;
use machinery::splice;
use serde_json::{Map, Value};
use store::Derived;

use super::outline::{self, Outline};

/// Serialized JSON without `metadata.resourceVersion`, and the position of that field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Document {
    text: Vec<u8>,
    /// Offset of the gap: just before the first key of `metadata` that follows `resourceVersion`.
    gap: usize,
    /// Whether a key of `metadata` precedes the gap (`before`) and whether one follows it (`after`). Both decide where
    /// a comma is needed.
    before: bool,
    after: bool,
    /// Whether the object has a `deletionTimestamp`.
    terminating: bool,
    /// What is kept beside the object.
    derived: Derived,
}

const FIELD: &str = "resourceVersion";

impl Document {
    fn with_capacity(bytes: usize) -> Self {
        Self {
            text: Vec::with_capacity(bytes),
            gap: 0,
            before: false,
            after: false,
            terminating: false,
            derived: Derived::default(),
        }
    }

    /// Returns the outline of the object; `None` if its metadata are malformed.
    pub(crate) fn outline(&self) -> Option<&Outline> {
        self.derived.get_or(|| None::<Outline>)?.as_ref()
    }

    /// Returns what is kept beside the object, for the store.
    pub(crate) fn take_derived(&mut self) -> Derived {
        std::mem::take(&mut self.derived)
    }

    /// Serializes `object` without its `resourceVersion`.
    pub(crate) fn new(object: &Value, order: Order) -> Self {
        let mut document = Self::with_capacity(1024);
        document.derived = outline::derived(Outline::of_value(object));
        let Some(map) = object.as_object() else { return document };
        document.text.push(b'{');
        for (index, (key, value, order)) in order.fields(map).into_iter().enumerate() {
            document.key(index > 0, key);
            match value.as_object() {
                Some(metadata) if key == "metadata" => document.metadata(metadata, order),
                _ => order.write(&mut document.text, value),
            }
        }
        document.text.push(b'}');
        document
    }

    fn metadata(&mut self, metadata: &Map<String, Value>, order: Order) {
        self.text.push(b'{');
        for (key, value, inner) in order.fields(metadata) {
            if key != FIELD {
                self.member(key, order.follows(key, FIELD));
                inner.write(&mut self.text, value);
            }
        }
        if !self.after {
            self.gap = self.text.len();
        }
        self.text.push(b'}');
    }

    /// Returns the text without `resourceVersion`.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Returns whether the object is being deleted.
    pub(crate) fn is_terminating(&self) -> bool {
        self.terminating
    }

    /// Begins a member of `metadata`, which comes behind the gap if it `follows`.
    fn member(&mut self, key: &str, follows: bool) {
        self.terminating |= key == "deletionTimestamp";
        if follows && !self.after {
            self.gap = self.text.len();
            if self.before {
                self.text.push(b',');
            }
            self.after = true;
            self.key(false, key);
        } else {
            let comma = self.before || self.after;
            self.before |= !self.after;
            self.key(comma, key);
        }
    }

    fn key(&mut self, comma: bool, key: &str) {
        if comma {
            self.text.push(b',');
        }
        let _ = serde_json::to_writer(&mut self.text, key);
        self.text.push(b':');
    }

    /// Returns the text with `revision` as `resourceVersion`.
    pub(crate) fn at(&self, revision: u64) -> Bytes {
        let mut text = Vec::with_capacity(self.text.len() + 40);
        text.extend_from_slice(&self.text[..self.gap]);
        if self.before {
            text.push(b',');
        }
        text.extend_from_slice(format!("\"{FIELD}\":\"{revision}\"").as_bytes());
        // If keys precede and follow the gap, the text already contains the comma between them.
        if self.after && !self.before {
            text.push(b',');
        }
        text.extend_from_slice(&self.text[self.gap..]);
        Bytes::from(text)
    }

    /// Returns the text without `resourceVersion`, as in the answer to a dry-run creation.
    pub(crate) fn unversioned(&self) -> Bytes {
        Bytes::copy_from_slice(&self.text)
    }
}

/// Returns the text of an object with `revision` as `resourceVersion`, which it must have; `None` if it has none.
pub(crate) fn at_revision(text: &[u8], revision: u64) -> Option<Bytes> {
    let metadata = splice::range(text, "metadata")?;
    let value = splice::range(text.get(metadata.clone())?, FIELD)?;
    let (start, end) = (metadata.start + value.start, metadata.start + value.end);
    let revision = format!("\"{revision}\"");
    Some(Bytes::from([text.get(..start)?, revision.as_bytes(), text.get(end..)?].concat()))
}

/// Returns the JSON text of `object`.
pub(crate) fn text(object: &Value, order: Order) -> Bytes {
    let mut text = Vec::with_capacity(1024);
    order.write(&mut text, object);
    Bytes::from(text)
}

/// Returns the order of the fields of an object of a kind.
pub(crate) fn order(definition: &Definition, object: &Value) -> Order {
    if definition.built_in { Order::of_kind(object) } else { Order::SORTED }
}
