//! Objects as they were read: their names, UIDs and text.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::kinds::Kind;

/// The name of an object, the same at both servers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// API group; empty for the core group.
    pub group: String,
    /// Name of the kind, such as `Machine`.
    pub kind: String,
    /// The namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl Key {
    /// Returns the URL path of the object of this kind.
    pub fn path(&self, kind: &Kind) -> String {
        format!("{}/{}", kind.path(&self.namespace), self.name)
    }

    /// Returns whether it names an object of this kind.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }

    /// Returns whether it is a Cluster.
    pub fn is_cluster(&self) -> bool {
        self.is(crate::names::CLUSTER_GROUP, "Cluster")
    }

    /// Returns whether it is a ClusterClass.
    pub fn is_class(&self) -> bool {
        self.is(crate::names::CLUSTER_GROUP, "ClusterClass")
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        f.write_str(" ")?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

/// Compressed JSON: with many objects, their texts take most of the memory.
#[derive(Debug, Clone)]
pub struct Text(Box<[u8]>);

impl Text {
    fn new(text: &str) -> Self {
        Self(lz4_flex::compress_prepend_size(text.as_bytes()).into())
    }

    /// Returns the original text.
    pub fn get(&self) -> String {
        let text = lz4_flex::decompress_size_prepended(&self.0).unwrap_or_default();
        String::from_utf8(text).unwrap_or_default()
    }
}

/// An object of the source, stored as text that is parsed when it is needed.
#[derive(Debug, Clone)]
pub struct Object {
    /// Group, kind, namespace and name.
    pub key: Key,
    /// Its identity at the source.
    pub uid: String,
    /// Its resource version at the source.
    pub resource_version: String,
    /// The whole object, with `apiVersion` and `kind`.
    pub text: Text,
}

impl Object {
    /// Returns the object of `kind` with this text, and its content as JSON.
    ///
    /// # Errors
    /// The text is not a JSON object.
    pub fn parse(kind: &Kind, text: &str) -> Result<(Self, Value), serde_json::Error> {
        let mut fields: Map<String, Value> = serde_json::from_str(text)?;
        let complete = fields.contains_key("kind");
        if !complete {
            fields.insert("apiVersion".into(), kind.api_version().into());
            fields.insert("kind".into(), kind.kind.clone().into());
        }
        let value = Value::Object(fields);
        let text = if complete { Text::new(text) } else { Text::new(&value.to_string()) };
        let field = |name: &str| value["metadata"][name].as_str().unwrap_or_default().to_owned();
        let key = Key {
            group: kind.group.clone(),
            kind: kind.kind.clone(),
            namespace: field("namespace"),
            name: field("name"),
        };
        Ok((Self { key, uid: field("uid"), resource_version: field("resourceVersion"), text }, value))
    }

    /// Returns the content as JSON. Parsing cannot fail, because the text was JSON when it was read.
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.text.get()).unwrap_or_default()
    }
}
