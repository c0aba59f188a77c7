//! Reads objects from the API server's responses, without the fields that no controller uses.

use std::borrow::Cow;
use std::ops::Range;

use machinery::splice;
use serde::Deserialize;

use crate::object::NamespacedName;

/// Returns an object's JSON text without its `managedFields`, which are half of its size and never read from
/// a cache.
pub fn without_managed_fields(text: &str) -> Cow<'_, str> {
    match managed_fields(text) {
        Some(fields) => Cow::Owned([&text[..fields.start], "null", &text[fields.end..]].concat()),
        None => Cow::Borrowed(text),
    }
}

fn managed_fields(text: &str) -> Option<Range<usize>> {
    let metadata = splice::range(text.as_bytes(), "metadata")?;
    let fields = splice::range(text.get(metadata.clone())?.as_bytes(), "managedFields")?;
    Some(metadata.start + fields.start..metadata.start + fields.end)
}

/// The metadata that identifies an object and its version.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
pub struct Identity<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    namespace: Cow<'a, str>,
    #[serde(borrow)]
    /// Its UID.
    pub uid: Cow<'a, str>,
    #[serde(borrow)]
    /// Its version.
    pub resource_version: Cow<'a, str>,
}

impl<'a> Identity<'a> {
    /// Reads the identity from an object's JSON text; `None` if the text has no valid `metadata`.
    pub fn read(text: &'a str) -> Option<Self> {
        serde_json::from_str(text.get(splice::range(text.as_bytes(), "metadata")?)?).ok()
    }

    /// Returns the object's namespace and name.
    pub fn key(&self) -> NamespacedName {
        NamespacedName::new(&*self.namespace, &*self.name)
    }
}
