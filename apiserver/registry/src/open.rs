//! Opening of a registry: loads built-in kinds and stored definitions, and starts the housekeeping.

use std::sync::Arc;

use machinery::clock::Clock;
use machinery::random::Random;
use parking_lot::RwLock;
use serde_json::Value;
use store::Store;
use tokio::sync::Notify;

use crate::housekeeping::start;
use crate::options::Options;
use crate::registry::{Inner, Registry};
use crate::storage::entries::Storage;
use crate::storage::keys;
use crate::versions::definition_writes::origin;
use crate::versions::definitions::{CRDS, Definitions};
use crate::versions::kinds::{Kinds, OpenError};

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
        let kinds = options.kinds.clone().map_or_else(Kinds::of_every_server, Ok)?;
        let mut definitions = kinds.definitions();
        let storage = Storage::new(store);
        load(&mut definitions, &storage, &options);
        let registry = Self(Arc::new(Inner {
            storage,
            clock,
            random,
            options,
            admission: crate::admission::configured::Cache::default(),
            definitions: RwLock::new(definitions),
            definitions_changed: Notify::new(),
            creations: RwLock::new(()),
        }));
        start::start(&registry).await;
        Ok(registry)
    }
}

/// Adds the resources of the stored CustomResourceDefinitions.
fn load(definitions: &mut Arc<Definitions>, storage: &Storage, options: &Options) {
    let Some(crds) = definitions.get(CRDS.0, CRDS.1).cloned() else { return };
    let (stored, _) = storage.range(&keys::namespace(&crds, ""));
    for entry in stored {
        let Ok(crd) = machinery::decode::own::<Value>(&entry.value) else { continue };
        if !apiextensions::crd::is_established(&crd) {
            continue;
        }
        match options.definition(&crd) {
            Ok(definition) => {
                let origin = origin(&crd, entry.mod_revision.0);
                Arc::make_mut(definitions).insert(definition, origin);
            }
            Err(error) => tracing::error!(key = %entry.key, %error, "a stored definition cannot be served"),
        }
    }
}
