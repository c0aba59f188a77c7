//! The built-in kinds of a server. They are read once, and all registries of a process share them: an API server in memory for each of
//! many clusters must cost little.

use std::sync::{Arc, LazyLock};

use kinds::definition::from_crd;
use serde_json::Value;

use super::definitions::{Definitions, Origin};

/// The reasons why a registry cannot be opened.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OpenError {
    /// A built-in kind is not a valid CustomResourceDefinition.
    #[error("the built-in kind {name} cannot be served: {problem}")]
    Kind {
        /// The `metadata.name`, or the beginning of the text if it cannot be parsed.
        name: String,
        /// The problem.
        problem: String,
    },
}

/// Built-in kinds. Cheap to clone.
#[derive(Clone)]
pub struct Kinds(Arc<Definitions>);

impl Kinds {
    /// Returns the kinds that every server has.
    ///
    /// # Errors
    /// One of them cannot be served.
    pub fn of_every_server() -> Result<Self, OpenError> {
        static KINDS: LazyLock<Result<Kinds, OpenError>> = LazyLock::new(read);
        KINDS.clone()
    }

    /// Returns the kinds that every server has, and those of `manifests`, which are CustomResourceDefinitions. A manifest replaces the kind
    /// of the same group and plural.
    ///
    /// # Errors
    /// A manifest cannot be served.
    pub fn with(manifests: &[Value]) -> Result<Self, OpenError> {
        let mut definitions = Definitions::clone(&Self::of_every_server()?.0);
        for manifest in manifests {
            add(&mut definitions, manifest)?;
        }
        Ok(Self(Arc::new(definitions)))
    }

    pub(crate) fn definitions(&self) -> Arc<Definitions> {
        self.0.clone()
    }
}

fn read() -> Result<Kinds, OpenError> {
    let mut definitions = Definitions::default();
    for text in kinds::manifests() {
        let manifest: Value = serde_json::from_str(text).map_err(|error| OpenError::Kind {
            name: text.chars().take(80).collect(),
            problem: error.to_string(),
        })?;
        add(&mut definitions, &manifest)?;
    }
    for definition in kinds::definitions() {
        definitions.insert(definition.clone(), Origin::default());
    }
    Ok(Kinds(Arc::new(definitions)))
}

fn add(definitions: &mut Definitions, manifest: &Value) -> Result<(), OpenError> {
    let mut definition = from_crd(manifest).map_err(|problem| OpenError::Kind {
        name: manifest["metadata"]["name"].as_str().unwrap_or("(no name)").to_owned(),
        problem,
    })?;
    definition.built_in = true;
    definitions.insert(definition, Origin::default());
    Ok(())
}
