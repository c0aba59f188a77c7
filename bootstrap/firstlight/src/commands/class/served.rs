//! Manifests as a server would store them: checked against the schemas of their kinds, and in the version that is stored.

use std::sync::Arc;

use anyhow::Result;
use cluster_topology::desired::Contract;
use cluster_topology::offline;
use machinery::meta::{api_version, group_version, kind, name};
use machinery::schema::{coerce, default};
use registry::{Definition, Structure};
use schemas::contract::implemented_by;
use serde_json::Value;
use server::conversion::{ClusterApiConversion, definition};

use crate::manifests::read::Document;

/// The kinds that this program serves.
pub(super) struct Kinds(Vec<Definition>);

impl Kinds {
    /// Reads the built-in definitions.
    ///
    /// # Errors
    /// Never, for the built-in definitions.
    pub(super) fn read() -> Result<Self> {
        let converter = Arc::new(ClusterApiConversion::default());
        schemas::crds()?
            .iter()
            .map(|manifest| definition(manifest, &converter))
            .collect::<Result<_>>()
            .map(Self)
    }

    /// Returns the object of a document in the version that is stored, without defaults. Kinds of other providers stay as they are.
    ///
    /// # Errors
    /// A field is unknown or has a value that the schema does not allow, or the version is not served.
    pub(super) fn stored(&self, document: &Document) -> Result<Value, Refusal> {
        let object = &document.object;
        let Some(definition) = self.definition(api_version(object), kind(object)) else {
            return Ok(object.clone());
        };
        let (_, version) = group_version(api_version(object));
        let Some(found) = definition.version(version) else {
            let served: Vec<&str> = definition.versions.iter().map(|version| version.name.as_str()).collect();
            let why = format!("the version {version:?} is not served; it can be {}", served.join(" or "));
            return Err(Refusal::of(document, "apiVersion", &why));
        };
        let mut read = object.clone();
        let unknown = coerce(&found.schema, &mut read);
        let unknown = unknown.map_err(|why| Refusal::of(document, "metadata", &why))?;
        if let Some(field) = unknown.first() {
            return Err(Refusal::of(document, field, &format!("unknown fields: {}", unknown.join(", "))));
        }
        check(document, &found.schema, &read)?;
        Ok(definition.converted(read, &definition.storage_version))
    }

    /// Returns an object that was made from a template in the version that is stored. Kinds of other providers stay as they are.
    pub(super) fn in_stored_version(&self, object: Value) -> Value {
        match self.definition(api_version(&object), kind(&object)) {
            Some(definition) => definition.converted(object, &definition.storage_version),
            None => object,
        }
    }

    fn definition(&self, api_version: &str, kind: &str) -> Option<&Definition> {
        let (group, _) = group_version(api_version);
        self.0.iter().find(|known| known.group == group && known.kind == kind)
    }
}

/// The kinds that this program serves, and those whose definitions are among the manifests.
pub(super) struct WithManifests<'a> {
    pub(super) kinds: &'a Kinds,
    pub(super) manifests: &'a [Value],
}

impl WithManifests<'_> {
    /// Returns the labels of the CustomResourceDefinition of a kind among the manifests; `None` if there is no such definition.
    fn labels(&self, group: &str, kind: &str) -> Option<&Value> {
        let is_meant = |object: &&Value| {
            object["kind"] == "CustomResourceDefinition"
                && object["spec"]["group"] == group
                && object["spec"]["names"]["kind"] == kind
        };
        self.manifests.iter().find(is_meant).map(|definition| &definition["metadata"]["labels"])
    }
}

impl offline::Kinds for WithManifests<'_> {
    fn in_version(&self, object: &Value, wanted: &str) -> Result<Value, String> {
        let written = api_version(object);
        if written == wanted {
            return Ok(object.clone());
        }
        let (_, version) = group_version(wanted);
        match self.kinds.definition(written, kind(object)) {
            Some(definition) if definition.version(version).is_some() => {
                Ok(definition.converted(object.clone(), version))
            }
            Some(_) => Err(format!("the version {version:?} is not served")),
            None => Err(format!("it is written in {written}, and only its provider can convert it")),
        }
    }

    fn contract(&self, api_version: &str, kind: &str) -> Contract {
        let (group, version) = group_version(api_version);
        let named = match (self.kinds.definition(api_version, kind), self.labels(group, kind)) {
            (Some(definition), _) => {
                implemented_by(version, |name| definition.labels.get(name).map(String::as_str))
            }
            (None, Some(labels)) => implemented_by(version, |name| labels[name].as_str()),
            // Before the contract v1beta2, versions had the names that Cluster API's own had then.
            (None, None) => (version == "v1beta1" || version.starts_with("v1alpha")).then_some("v1beta1"),
        };
        named.map_or_else(Contract::default, Contract::named)
    }
}

/// Why a server would refuse a document.
#[derive(Debug, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub(super) struct Refusal {
    file: String,
    line: usize,
    /// Kind and name of the object, and what is wrong with it.
    pub(super) message: String,
}

impl Refusal {
    /// Returns the refusal because of `field`, in whose line it is, if this can be found.
    fn of(document: &Document, field: &str, why: &str) -> Self {
        let line = document.line_of(field).unwrap_or(document.line);
        let object = &document.object;
        Self {
            file: document.file.clone(),
            line,
            message: format!("{} {}: {why}", kind(object), name(object)),
        }
    }
}

/// Checks an object against the schema of its version, after its defaults are set.
fn check(document: &Document, structure: &Structure, object: &Value) -> Result<(), Refusal> {
    let Structure::Written(schema) = structure else { return Ok(()) };
    let mut object = object.clone();
    default(schema, &mut object);
    let mut errors = schema.validate(&object, None, Vec::new(), Default::default());
    // One error without a field says that rules were not evaluated, because of the others.
    if errors.len() > 1 {
        errors.retain(|error| !error.field.is_empty());
    }
    let Some(first) = errors.first() else { return Ok(()) };
    let why: Vec<String> = errors.iter().map(ToString::to_string).collect();
    Err(Refusal::of(document, &first.field, &why.join("; ")))
}
