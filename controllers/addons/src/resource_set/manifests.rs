//! Reads the manifests in the values of a Secret or ConfigMap. Pure.

use std::fmt;

use machinery::decode;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::order;
use super::source::Source;
use crate::limits::{MAX_RESOURCE_BYTES, MAX_RESOURCE_COST, MAX_RESOURCE_OBJECTS, VALUE_COST};

/// A manifest with its place.
#[derive(Clone)]
pub struct Manifest {
    /// Where it was found.
    pub place: Place,
    /// The object.
    pub object: Value,
    /// Why no request can be made for the object. That does not hold up the others.
    pub fault: Option<&'static str>,
    /// Whether the object has only the prefix of a name in its document.
    pub is_generated: bool,
}

/// The place of a manifest, which messages name instead of its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The key of the value.
    pub key: String,
    /// The number of the document in the value, or of the item in its list, from 1.
    pub document: usize,
    /// The number of the item if the document is a List, from 1.
    pub item: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key {:?}, document {}", self.key, self.document)?;
        self.item.map_or(Ok(()), |item| write!(f, ", item {item}"))
    }
}

/// The reason why a resource cannot be read. It never contains the content of a Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The place and the reason.
    pub reason: String,
    /// The limit that was reached.
    pub limit: Option<&'static str>,
}

impl Fault {
    fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), limit: None }
    }

    fn at(place: &Place, reason: &str) -> Self {
        Self::new(format!("{place}: {reason}"))
    }

    fn limit(limit: &'static str, reason: String) -> Self {
        Self { reason, limit: Some(limit) }
    }
}

/// Returns the hash of the values, `sha256:` and hexadecimal digits; `None` if there are none.
pub fn hash(source: &Source) -> Option<String> {
    let mut hasher = Sha256::new();
    source.values()?.iter().for_each(|(_, value)| hasher.update(value));
    let digits: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("sha256:{digits}"))
}

/// Returns the manifests of all values in the order in which they are applied: by key, and in each value by kind.
///
/// # Errors
/// There are no values, a value cannot be read, or a limit is reached.
pub fn read(source: &Source) -> Result<Vec<Manifest>, Fault> {
    let values =
        source.values().ok_or_else(|| Fault::new("it has no data to apply: add a key with manifests"))?;
    let size: usize = values.iter().map(|(_, value)| value.len()).sum();
    if size > MAX_RESOURCE_BYTES {
        let reason = format!("it has {size} bytes of data, more than {MAX_RESOURCE_BYTES}: split it");
        return Err(Fault::limit("max_resource_bytes", reason));
    }
    let mut reader = Reader { is_secret: source.is_secret(), cost: 0, manifests: Vec::new() };
    for (key, value) in values {
        let first = reader.manifests.len();
        reader.value(key, value)?;
        reader.manifests[first..].sort_by_key(|manifest| order::position(text(&manifest.object, "kind")));
    }
    Ok(reader.manifests)
}

struct Reader {
    is_secret: bool,
    cost: usize,
    manifests: Vec<Manifest>,
}

impl Reader {
    fn value(&mut self, key: &str, value: &[u8]) -> Result<(), Fault> {
        let text = std::str::from_utf8(value)
            .map_err(|_| Fault::new(format!("key {key:?}: it is no UTF-8 text")))?;
        let place = |document: usize| Place { key: key.to_owned(), document, item: None };
        if text.trim_start().starts_with('[') {
            // Only a list in JSON is one; YAML lists in brackets are nearly always JSON, too.
            let decoded = decode::json(value).map_err(|error| self.unreadable(&place(1), &error))?;
            let Value::Array(items) = decoded.value else { return Ok(()) };
            for (index, item) in items.into_iter().enumerate() {
                self.add(place(index + 1), item)?;
            }
            return Ok(());
        }
        for (index, decoded) in decode::yaml_each(text).enumerate() {
            let place = place(index + 1);
            let (_, decoded) = decoded.map_err(|error| self.unreadable(&place, &error))?;
            // A document of comments is empty.
            if !decoded.value.is_null() {
                self.add(place, decoded.value)?;
            }
        }
        Ok(())
    }

    /// The parser's message could quote the content, so it is dropped for a Secret.
    fn unreadable(&self, place: &Place, error: &str) -> Fault {
        if self.is_secret {
            return Fault::at(place, "it is neither YAML nor JSON");
        }
        Fault::at(place, &format!("it is neither YAML nor JSON: {error}"))
    }

    /// Adds an object, or the items of a List.
    fn add(&mut self, place: Place, mut object: Value) -> Result<(), Fault> {
        if !object.is_object() {
            return Err(Fault::at(&place, "it is no object: a manifest has apiVersion, kind and metadata"));
        }
        if text(&object, "kind").ends_with("List")
            && let Value::Array(items) = object["items"].take()
        {
            for (index, item) in items.into_iter().enumerate() {
                self.add(Place { item: Some(index + 1), ..place.clone() }, item)?;
            }
            return Ok(());
        }
        if self.manifests.len() >= MAX_RESOURCE_OBJECTS {
            let reason = format!("it has more than {MAX_RESOURCE_OBJECTS} objects: split it");
            return Err(Fault::limit("max_resource_objects", reason));
        }
        self.cost = self.cost.saturating_add(cost(&object));
        if self.cost > MAX_RESOURCE_COST {
            let reason = format!(
                "{place}: the objects up to here are too large with their aliases replaced: split it"
            );
            return Err(Fault::limit("max_resource_cost", reason));
        }
        let fault = check(&object).err();
        self.manifests.push(Manifest { place, object, fault, is_generated: false });
        Ok(())
    }
}

/// Returns the text at a field; empty if there is none.
pub fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

/// Checks what a request for the object needs. These texts become parts of its path.
fn check(object: &Value) -> Result<(), &'static str> {
    let is_version = |text: &str| {
        let is_part = |part: &str| {
            part.starts_with(|first: char| first.is_ascii_alphanumeric())
                && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '-')
        };
        text.split('/').count() <= 2 && text.split('/').all(is_part)
    };
    if !is_version(text(object, "apiVersion")) {
        return Err("apiVersion is missing, or is not GROUP/VERSION");
    }
    if text(object, "kind").is_empty() {
        return Err("kind is missing");
    }
    let is_name = |text: &str| {
        !text.is_empty()
            && !matches!(text, "." | "..")
            && text.chars().all(|c| c.is_ascii_graphic() && !"/%?#\\".contains(c))
    };
    let metadata = &object["metadata"];
    let name = match text(metadata, "name") {
        "" => text(metadata, "generateName"),
        name => name,
    };
    if !is_name(name) {
        return Err("metadata.name is missing, or is no name");
    }
    match &metadata["namespace"] {
        Value::Null => Ok(()),
        Value::String(namespace) if namespace.is_empty() || is_name(namespace) => Ok(()),
        _ => Err("metadata.namespace is no name"),
    }
}

/// Returns the cost of a value, which is at most as deep as a document may be.
fn cost(value: &Value) -> usize {
    let inside = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(cost).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + cost(value)).sum(),
        _ => 0,
    };
    VALUE_COST + inside
}
