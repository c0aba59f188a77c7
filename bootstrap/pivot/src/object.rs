//! Objects as they were read: who they are, and their text.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::kinds::Kind;

/// What names an object on either server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// Empty for the core group.
    pub group: String,
    /// `Machine`
    pub kind: String,
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl Key {
    /// Whether it is of that kind.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }

    /// Whether it is a Cluster.
    pub fn is_cluster(&self) -> bool {
        self.is(crate::names::CLUSTER_GROUP, "Cluster")
    }

    /// Whether it is a ClusterClass.
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

/// An object of the source. Its text is kept as it came; it is parsed where it is needed.
#[derive(Debug, Clone)]
pub struct Object {
    /// What names it.
    pub key: Key,
    /// Its identity at the source.
    pub uid: String,
    /// Its state at the source.
    pub resource_version: String,
    /// The whole object, with `apiVersion` and `kind`.
    pub text: Arc<str>,
}

impl Object {
    /// The object of `kind` with this text; also as JSON.
    ///
    /// # Errors
    /// Where it is no JSON object.
    pub fn parse(kind: &Kind, text: &str) -> Result<(Self, Value), serde_json::Error> {
        let mut fields: Map<String, Value> = serde_json::from_str(text)?;
        let complete = fields.contains_key("kind");
        if !complete {
            fields.insert("apiVersion".into(), kind.api_version().into());
            fields.insert("kind".into(), kind.kind.clone().into());
        }
        let value = Value::Object(fields);
        let text = if complete { text.into() } else { value.to_string().into() };
        let field = |name: &str| value["metadata"][name].as_str().unwrap_or_default().to_owned();
        let key = Key {
            group: kind.group.clone(),
            kind: kind.kind.clone(),
            namespace: field("namespace"),
            name: field("name"),
        };
        Ok((Self { key, uid: field("uid"), resource_version: field("resourceVersion"), text }, value))
    }

    /// The object as JSON; it was JSON when it was read.
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }
}
