//! The definitions of resources: one [`Definition`] for each resource that is built in or comes from a
//! CustomResourceDefinition. Built-in kinds are read from files in the form of CustomResourceDefinitions
//! ([`crate::manifests`]) or come from the tables of this crate.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use crate::types::LazySchema;
use machinery::meta;
use machinery::schema::Schema;
use serde_json::Value;

use super::conversion::Conversion;
use super::converter::Converter;
use super::written::WrittenSchema;
use crate::subresource::Subresource;

/// A resource with all its versions.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The API group; empty for the core group.
    pub group: String,
    /// The plural name, used in paths.
    pub plural: String,
    /// The singular name.
    pub singular: String,
    /// The kind of the objects.
    pub kind: String,
    /// The kind of lists.
    pub list_kind: String,
    /// Short names for `kubectl`.
    pub short_names: Vec<String>,
    /// Categories for `kubectl get CATEGORY`.
    pub categories: Vec<String>,
    /// Whether the objects are namespaced.
    pub namespaced: bool,
    /// The versions in order of preference, as in discovery.
    pub versions: Vec<Arc<Version>>,
    /// The name of the storage version.
    pub storage_version: String,
    /// The verbs of the resource itself, as in discovery. Empty if the kind is only the body of a subresource and has
    /// no path of its own.
    pub verbs: Vec<&'static str>,
    /// Whether the kind is built in. Only built-in kinds support strategic merge patch.
    pub built_in: bool,
    /// The webhook that converts between versions. Without one and without `converter`, conversion changes only
    /// `apiVersion`.
    pub conversion: Option<Arc<Conversion>>,
    /// Converts between versions in this process. Never set together with `conversion`.
    pub converter: Option<Arc<dyn Converter>>,
    /// Labels of the CustomResourceDefinition.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the CustomResourceDefinition, for example its installer's, which admission rules may evaluate.
    pub annotations: BTreeMap<String, String>,
}

/// One version of a resource.
#[derive(Debug, Clone)]
pub struct Version {
    /// The name, for example `v1beta2`.
    pub name: String,
    /// Whether clients can use the version.
    pub served: bool,
    /// The warning for clients that use the version, if it is deprecated.
    pub deprecation_warning: Option<String>,
    /// The schema of the objects.
    pub schema: Structure,
    /// The schema as JSON text as in the CustomResourceDefinition, for OpenAPI; empty if there is none. Text takes a
    /// fifth of the memory of a parsed tree.
    pub schema_text: Arc<str>,
    /// Columns of `kubectl get`. If empty, only the age is shown.
    pub columns: Vec<Column>,
    /// Whether `/status` is served. If so, writes of the main resource do not change `status`, and writes of `/status`
    /// do not change `spec`.
    pub status: bool,
    /// The paths of `/scale`, if it is served.
    pub scale: Option<Scale>,
    /// Other subresources that read and write the object.
    pub parts: &'static [Subresource],
    /// JSON paths (such as `.spec.x`) that field selectors support in addition to name and namespace.
    pub selectable_fields: Vec<String>,
}

/// The schema of a version.
#[derive(Debug, Clone)]
pub enum Structure {
    /// A schema from a CustomResourceDefinition.
    Written(Arc<WrittenSchema>),
    /// The schema of a type that is compiled into the server, built on first use.
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
    /// The heading.
    pub name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: String,
    /// Empty for most columns; `name` for the first column of built-in kinds.
    pub format: String,
    /// A description for clients that show one.
    pub description: String,
    /// 0: always shown. Greater: only shown with `-o wide`.
    pub priority: i64,
    /// The JSON path of the value, for example `.status.phase`.
    pub json_path: String,
}

/// The JSON paths that `/scale` reads and writes.
#[derive(Debug, Clone)]
pub struct Scale {
    /// For example `.spec.replicas`.
    pub spec_replicas_path: String,
    /// For example `.status.replicas`.
    pub status_replicas_path: String,
    /// For example `.status.selector`; `None` if there is none.
    pub label_selector_path: Option<String>,
}

impl Definition {
    /// Returns whether objects of the kind are stored. Reviews, for example, are only answered.
    pub fn is_stored(&self) -> bool {
        self.verbs.contains(&"get")
    }

    /// Returns the version with the given name, even if it is not served.
    pub fn version(&self, name: &str) -> Option<&Arc<Version>> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// Returns the schema if it is compiled into the server and does not come from a manifest.
    pub(crate) fn known(&self) -> Option<Structure> {
        let version = self.versions.first()?;
        matches!(version.schema, Structure::Known(_)).then(|| version.schema.clone())
    }

    /// Returns an object of a custom resource in another version, without a webhook.
    pub fn converted(&self, mut object: Value, version: &str) -> Value {
        let wanted = self.api_version(version);
        if let Some(converter) = &self.converter
            && meta::api_version(&object) != wanted
        {
            object = converter.convert(self, object, version);
        }
        if let Some(map) = object.as_object_mut() {
            map.insert("apiVersion".into(), wanted.into());
        }
        object
    }

    /// Returns `group/version`, or only the version for the core group.
    pub fn api_version(&self, version: &str) -> String {
        if self.group.is_empty() { version.to_owned() } else { format!("{}/{version}", self.group) }
    }
}
