//! The metadata of a stored object, read without parsing the rest of it.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value};

/// The fields of `metadata` that selection and housekeeping need.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Meta<'a> {
    #[serde(borrow)]
    pub(crate) name: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) namespace: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) uid: Cow<'a, str>,
    #[serde(borrow)]
    resource_version: Cow<'a, str>,
    pub(crate) labels: Map<String, Value>,
    pub(crate) owner_references: Vec<Owner>,
    pub(crate) finalizers: Vec<String>,
    pub(crate) deletion_timestamp: Option<String>,
}

/// One owner reference.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Owner {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) block_owner_deletion: Option<bool>,
}

impl<'a> Meta<'a> {
    /// Reads the text of a stored object. Returns `None` if it is malformed.
    pub(crate) fn read(text: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(text.get(machinery::splice::range(text, "metadata")?)?).ok()
    }
}
