//! Reads objects from the API server's responses, without the fields that no controller uses.

use std::borrow::Cow;
use std::ops::Range;

use machinery::splice;
use serde::Deserialize;

use crate::object::NamespacedName;

/// Returns an object's JSON text without its `managedFields`, which are half of its size and never read from
/// a cache.
pub(crate) fn without_managed_fields(text: &str) -> Cow<'_, str> {
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
pub(crate) struct Identity<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    namespace: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) uid: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) resource_version: Cow<'a, str>,
}

impl<'a> Identity<'a> {
    /// Reads the identity from an object's JSON text; `None` if the text has no valid `metadata`.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        serde_json::from_str(text.get(splice::range(text.as_bytes(), "metadata")?)?).ok()
    }

    /// Returns the object's namespace and name.
    pub(crate) fn key(&self) -> NamespacedName {
        NamespacedName::new(&*self.namespace, &*self.name)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    #[test]
    fn everything_but_managed_fields() {
        let text = r#"{"kind":"ConfigMap","metadata":{"managedFields":[{"manager":"a \" ]}","fieldsV1":{"f:data":{}}}],"name":"a","namespace":"b","resourceVersion":"7","uid":"u"},"data":{"managedFields":"kept"}}"#;
        let cut = without_managed_fields(text);
        let expected = r#"{"kind":"ConfigMap","metadata":{"managedFields":null,"name":"a","namespace":"b","resourceVersion":"7","uid":"u"},"data":{"managedFields":"kept"}}"#;
        assert_eq!(cut, expected);
        let object: ConfigMap = serde_json::from_str(&cut).unwrap();
        assert_eq!(object.metadata.managed_fields, None);
        let identity = Identity::read(&cut).unwrap();
        assert_eq!((identity.key(), &*identity.uid), (NamespacedName::new("b", "a"), "u"));
        assert_eq!(identity.resource_version, "7");
        for whole in [r#"{"metadata":{"name":"a"}}"#, "{}", "[1]", "no JSON"] {
            assert_eq!(without_managed_fields(whole), whole);
        }
    }
}
