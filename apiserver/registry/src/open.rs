//! Opening of a registry: loads built-in kinds and stored definitions, and starts the housekeeping.

use std::sync::Arc;

use machinery::clock::Clock;
use machinery::random::Random;
use parking_lot::RwLock;
use serde_json::Value;
use store::Store;
use tokio::sync::watch;

use crate::definition_writes::CRDS;
use crate::definitions::Definitions;
use crate::from_crd::from_crd;
use crate::housekeeping;
use crate::keys;
use crate::kinds;
use crate::options::Options;
use crate::registry::{Inner, Registry};
use crate::storage::Storage;

/// Built-in kinds of every registry, as CustomResourceDefinitions. The other built-in kinds are in [`kinds`].
const KINDS: [&str; 19] = [
    include_str!("../kinds/namespace.json"),
    include_str!("../kinds/secret.json"),
    include_str!("../kinds/configmap.json"),
    include_str!("../kinds/event.json"),
    include_str!("../kinds/event-events.json"),
    include_str!("../kinds/serviceaccount.json"),
    include_str!("../kinds/lease.json"),
    include_str!("../kinds/role.json"),
    include_str!("../kinds/rolebinding.json"),
    include_str!("../kinds/clusterrole.json"),
    include_str!("../kinds/clusterrolebinding.json"),
    include_str!("../kinds/customresourcedefinition.json"),
    include_str!("../kinds/tokenreview.json"),
    include_str!("../kinds/tokenrequest.json"),
    include_str!("../kinds/selfsubjectreview.json"),
    include_str!("../kinds/subjectaccessreview.json"),
    include_str!("../kinds/selfsubjectaccessreview.json"),
    include_str!("../kinds/localsubjectaccessreview.json"),
    include_str!("../kinds/selfsubjectrulesreview.json"),
];

/// The reasons why a registry cannot be opened.
#[derive(Debug, thiserror::Error)]
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

impl Registry {
    /// Opens a registry on `store` and starts its housekeeping. The housekeeping ends with the last clone of the
    /// registry, or with the runtime.
    ///
    /// # Errors
    /// If a built-in kind, for example of `options.kinds`, cannot be served.
    pub async fn open(
        store: Store,
        clock: Clock,
        random: Random,
        options: Options,
    ) -> Result<Self, OpenError> {
        let mut definitions = Definitions::default();
        for text in KINDS {
            let manifest: Value = serde_json::from_str(text).map_err(|error| OpenError::Kind {
                name: text.chars().take(80).collect(),
                problem: error.to_string(),
            })?;
            built_in(&mut definitions, &manifest)?;
        }
        for definition in kinds::definitions() {
            definitions.insert(definition.clone(), 0, false, 0);
        }
        for manifest in &options.kinds {
            built_in(&mut definitions, manifest)?;
        }
        let storage = Storage::new(store);
        load(&mut definitions, &storage);
        let generation = definitions.generation;
        let registry = Self(Arc::new(Inner {
            storage,
            clock,
            random,
            options,
            admission: crate::admission::Cache::default(),
            definitions: RwLock::new(Arc::new(definitions)),
            changed: watch::Sender::new(generation),
        }));
        housekeeping::start(&registry).await;
        Ok(registry)
    }
}

fn built_in(definitions: &mut Definitions, manifest: &Value) -> Result<(), OpenError> {
    let mut definition = from_crd(manifest).map_err(|problem| OpenError::Kind {
        name: manifest["metadata"]["name"].as_str().unwrap_or("(no name)").to_owned(),
        problem: problem.to_string(),
    })?;
    definition.built_in = true;
    definitions.insert(definition, 0, false, 0);
    Ok(())
}

/// Adds the resources of the stored CustomResourceDefinitions.
fn load(definitions: &mut Definitions, storage: &Storage) {
    let Some(crds) = definitions.get(CRDS.0, CRDS.1).cloned() else { return };
    let (stored, _) = storage.range(&keys::namespace(&crds, ""));
    for entry in stored {
        let Ok(crd) = machinery::decode::own::<Value>(&entry.value) else { continue };
        if !apiextensions::crd::is_established(&crd) {
            continue;
        }
        match from_crd(&crd) {
            Ok(definition) => {
                let terminating = machinery::meta::is_deleting(&crd);
                let shape = crate::definition_writes::shape(&crd);
                definitions.insert(definition, entry.mod_revision.0, terminating, shape);
            }
            Err(error) => tracing::error!(key = %entry.key, %error, "a stored definition cannot be served"),
        }
    }
}
