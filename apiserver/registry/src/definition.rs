//! What is served: one [`Definition`] a resource, whether it is built in or comes from a
//! CustomResourceDefinition. Built-in kinds are written as CustomResourceDefinitions too (`kinds/`),
//! so there is one way in.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use apiextensions::CompiledSchema;
use machinery::schema::Schema;
use machinery::types::LazySchema;
use serde_json::Value;

use crate::context::Subresource;
pub use crate::conversion::Conversion;

/// A resource in all its versions.
#[derive(Debug, Clone)]
pub struct Definition {
    /// API group, empty for the core group.
    pub group: String,
    /// The plural, which stands in paths.
    pub plural: String,
    /// The singular.
    pub singular: String,
    /// The kind.
    pub kind: String,
    /// The list kind.
    pub list_kind: String,
    /// `kubectl`'s short names.
    pub short_names: Vec<String>,
    /// `kubectl get CATEGORY`.
    pub categories: Vec<String>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// In order of preference, as discovery lists them.
    pub versions: Vec<Arc<Version>>,
    /// Name of the version that is stored.
    pub storage_version: String,
    /// The verbs served on the resource itself, as discovery lists them. None: the kind is only what some subresource
    /// takes, and has no path.
    pub verbs: Vec<&'static str>,
    /// Whether it is built in: strategic merge patch is served for these only.
    pub built_in: bool,
    /// Where other versions come from, when a webhook converts; else only `apiVersion` differs.
    pub conversion: Option<Arc<Conversion>>,
    /// Annotations of the CustomResourceDefinition: what its installer noted, for [`crate::Admission`] to go by.
    pub annotations: BTreeMap<String, String>,
}

/// One version of a resource.
#[derive(Debug, Clone)]
pub struct Version {
    /// `v1beta2`
    pub name: String,
    /// Whether clients may use it.
    pub served: bool,
    /// The warning for clients that use it, when it is deprecated.
    pub deprecation_warning: Option<String>,
    /// What objects look like.
    pub schema: Structure,
    /// The schema as it was written, JSON text, for OpenAPI; empty where none was written. Text takes a fifth of what a tree does.
    pub schema_text: Box<str>,
    /// Columns of `kubectl get`; empty: only the age.
    pub columns: Vec<Column>,
    /// Whether `/status` is served (then `status` is not written through the main path, and back).
    pub status: bool,
    /// `/scale`, when served.
    pub scale: Option<Scale>,
    /// Further parts of the object that are read and written through paths of their own.
    pub parts: &'static [Subresource],
    /// JSON paths (`.spec.x`) that field selectors can use beside name and namespace.
    pub selectable_fields: Vec<String>,
}

/// The schema of a version.
#[derive(Debug, Clone)]
pub enum Structure {
    /// From a CustomResourceDefinition.
    Written(Arc<CompiledSchema>),
    /// That of a type which the server knows, made when it is first needed.
    Known(Arc<LazySchema>),
}

impl Deref for Structure {
    type Target = Schema;

    fn deref(&self) -> &Schema {
        match self {
            Self::Written(schema) => schema,
            Self::Known(schema) => schema.get(),
        }
    }
}

/// One printer column.
#[derive(Debug, Clone)]
pub struct Column {
    /// Heading.
    pub name: String,
    /// `string`, `integer`, `number`, `boolean`, `date`
    pub kind: String,
    /// `name` for the first column of built-in kinds, mostly empty.
    pub format: String,
    /// For `kubectl explain`-like clients.
    pub description: String,
    /// 0: always shown; more: `-o wide`.
    pub priority: i64,
    /// Where the value stands, `.status.phase`.
    pub json_path: String,
}

/// Where `/scale` reads and writes.
#[derive(Debug, Clone)]
pub struct Scale {
    /// `.spec.replicas`
    pub spec_replicas_path: String,
    /// `.status.replicas`
    pub status_replicas_path: String,
    /// `.status.selector`, when there is one.
    pub label_selector_path: Option<String>,
}

impl Definition {
    /// Whether there are objects of the kind: reviews are answered and forgotten.
    pub fn is_stored(&self) -> bool {
        self.verbs.contains(&"get")
    }

    /// The version of that name, served or not.
    pub fn version(&self, name: &str) -> Option<&Arc<Version>> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// Its structure, when it is one that the server knows by itself, rather than a manifest's.
    pub(crate) fn known(&self) -> Option<Structure> {
        let version = self.versions.first()?;
        matches!(version.schema, Structure::Known(_)).then(|| version.schema.clone())
    }

    /// `group/version`, or `version` for the core group.
    pub fn api_version(&self, version: &str) -> String {
        if self.group.is_empty() { version.to_owned() } else { format!("{}/{version}", self.group) }
    }
}

/// An object as it was stored: JSON in the storage version.
pub type Object = Value;
