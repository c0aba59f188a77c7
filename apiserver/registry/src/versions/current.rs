//! The definitions that are served now, and what is needed to convert objects between their versions.

use std::sync::Arc;

use kinds::definition::{Converter, Definition, from_crd};
use machinery::random::Random;
use parking_lot::RwLock;
use serde_json::Value;
use tokio::sync::Notify;

use super::definitions::{CRDS, Definitions, Origin, Served};
use super::kinds::Kinds;
use super::reader::Reader;
use crate::storage::entries::Storage;
use crate::storage::keys;
use crate::webhook::call::Webhooks;
use crate::webhook::caller::WebhookCaller;

/// The resources in all their versions: which are served, and how an object of one version becomes one of another.
pub(crate) struct Versions {
    storage: Arc<Storage>,
    definitions: RwLock<Arc<Definitions>>,
    /// Wakes watches in the order in which they wait, so that a simulation is the same in each run. `tokio::sync::watch` has a random order.
    changed: Notify,
    converter: Option<Arc<dyn Converter>>,
    caller: Option<Arc<dyn WebhookCaller>>,
    random: Random,
}

impl Versions {
    /// Serves the built-in kinds and those of the stored CustomResourceDefinitions. Without `converter`, only webhooks convert custom
    /// objects; without `caller`, calls of webhooks fail.
    pub(crate) fn open(
        storage: Arc<Storage>,
        kinds: &Kinds,
        converter: Option<Arc<dyn Converter>>,
        caller: Option<Arc<dyn WebhookCaller>>,
        random: Random,
    ) -> Self {
        let definitions = RwLock::new(kinds.definitions());
        let versions = Self { storage, definitions, changed: Notify::new(), converter, caller, random };
        versions.load();
        versions
    }

    /// Adds the resources of the stored CustomResourceDefinitions.
    fn load(&self) {
        let mut definitions = self.definitions.write();
        let Some(crds) = definitions.get(CRDS.0, CRDS.1).cloned() else { return };
        let (stored, _) = self.storage.range(&keys::namespace(&crds, ""));
        for entry in stored {
            let Ok(crd) = machinery::decode::own::<Value>(&entry.value) else { continue };
            if !apiextensions::crd::is_established(&crd) {
                continue;
            }
            match self.read_definition(&crd) {
                Ok(definition) => {
                    let origin = Origin::of(&crd, entry.mod_revision.0);
                    Arc::make_mut(&mut definitions).insert(definition, origin);
                }
                Err(error) => {
                    tracing::error!(key = %entry.key, %error, "a stored definition cannot be served")
                }
            }
        }
    }

    /// Reads a CustomResourceDefinition, and lets the converter convert its objects if it does so.
    ///
    /// # Errors
    /// Describes the missing or malformed field, with its path.
    pub(crate) fn read_definition(&self, crd: &Value) -> Result<Definition, String> {
        let mut definition = from_crd(crd)?;
        if let Some(converter) = &self.converter {
            converter.defined(&definition);
        }
        let converter = self.converter.as_ref().filter(|_| definition.conversion.is_none());
        definition.converter = converter.filter(|converter| converter.concerns(&definition)).cloned();
        Ok(definition)
    }

    /// Returns the resource, or `None` if this version of it is not served.
    pub(crate) fn served(&self, group: &str, version: &str, plural: &str) -> Option<Served> {
        self.definitions.read().served(group, version, plural)
    }

    /// Returns all current resources.
    pub(crate) fn definitions(&self) -> Arc<Definitions> {
        self.definitions.read().clone()
    }

    /// Changes the set of definitions.
    pub(crate) fn redefine(&self, change: impl FnOnce(&mut Definitions)) {
        let mut guard = self.definitions.write();
        let mut definitions = Definitions::clone(&guard);
        change(&mut definitions);
        *guard = Arc::new(definitions);
        drop(guard);
        self.changed.notify_waiters();
    }

    /// Waits until the definitions differ from those of `served`: its kind has changed or was removed. The definitions of built-in kinds never change.
    pub(crate) async fn replaced(&self, served: &Served) {
        if served.definition.built_in {
            return std::future::pending().await;
        }
        loop {
            let changed = self.changed.notified();
            if !served.is_current(&self.definitions()) {
                return;
            }
            changed.await;
        }
    }

    /// Reads objects as they are stored.
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { storage: &self.storage, definitions: &self.definitions }
    }

    /// Calls webhooks, whose Services are among the stored objects.
    pub(crate) fn webhooks(&self) -> Webhooks<'_> {
        Webhooks::new(self.caller.as_deref(), &self.random, self.reader())
    }
}
