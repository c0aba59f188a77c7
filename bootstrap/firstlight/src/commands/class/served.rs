//! Manifests as a server would store them: checked against the schemas of their kinds, and in the version that is stored.

use std::sync::Arc;

use anyhow::Result;
use machinery::meta::{api_version, group_version, kind, name};
use machinery::schema::{coerce, default};
use registry::{Definition, Structure};
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
        let (group, version) = group_version(api_version(object));
        let is_meant = |known: &&Definition| known.group == group && known.kind == kind(object);
        let Some(definition) = self.0.iter().find(is_meant) else { return Ok(object.clone()) };
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
