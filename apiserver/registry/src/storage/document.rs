//! An object for the store: serialized once, with a gap for the revision, which is only known at the commit.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;
use store::Derived;

use super::outline::{self, Outline};

/// Serialized JSON without `metadata.resourceVersion`, and the position of that field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Document {
    text: Vec<u8>,
    /// Offset of the gap: just before the first key of `metadata` that sorts after `resourceVersion`.
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
    pub(crate) fn new(object: &Value) -> Self {
        let mut document = Self::with_capacity(1024);
        document.derived = outline::derived(Outline::of_value(object));
        let Some(map) = object.as_object() else { return document };
        document.text.push(b'{');
        for (index, (key, value)) in map.iter().enumerate() {
            document.key(index > 0, key);
            match value.as_object() {
                Some(metadata) if key == "metadata" => {
                    document.open();
                    for (key, value) in metadata.iter().filter(|(key, _)| *key != FIELD) {
                        document.member(key);
                        write(&mut document.text, value);
                    }
                    document.close();
                }
                _ => write(&mut document.text, value),
            }
        }
        document.text.push(b'}');
        document
    }

    /// Reads JSON text in which `metadata` is an object. Returns `None` if it cannot be parsed.
    pub(crate) fn from_text(text: &[u8]) -> Option<Self> {
        let map: BTreeMap<&str, &RawValue> = serde_json::from_slice(text).ok()?;
        let mut document = Self::with_capacity(text.len());
        document.text.push(b'{');
        for (index, (key, value)) in map.into_iter().enumerate() {
            document.key(index > 0, key);
            if key == "metadata" {
                let metadata: BTreeMap<&str, &RawValue> = serde_json::from_str(value.get()).ok()?;
                document.open();
                for (key, value) in metadata.into_iter().filter(|(key, _)| *key != FIELD) {
                    document.member(key);
                    document.text.extend_from_slice(value.get().as_bytes());
                }
                document.close();
            } else {
                document.text.extend_from_slice(value.get().as_bytes());
            }
        }
        document.text.push(b'}');
        Some(document)
    }

    /// Returns whether the object is being deleted.
    pub(crate) fn is_terminating(&self) -> bool {
        self.terminating
    }

    fn open(&mut self) {
        self.text.push(b'{');
        self.gap = 0;
        self.before = false;
    }

    fn member(&mut self, key: &str) {
        self.terminating |= key == "deletionTimestamp";
        if key > FIELD && !self.after {
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

    fn close(&mut self) {
        if !self.after {
            self.gap = self.text.len();
        }
        self.text.push(b'}');
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

fn write(text: &mut Vec<u8>, value: &Value) {
    // Writing a `Value` to memory cannot fail: its keys are strings.
    let _ = serde_json::to_writer(text, value);
}

/// Returns the JSON text of `object`.
pub(crate) fn text(object: &Value) -> Bytes {
    let mut text = Vec::with_capacity(1024);
    write(&mut text, object);
    Bytes::from(text)
}
