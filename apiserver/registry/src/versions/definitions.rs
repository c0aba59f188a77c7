//! A snapshot of the resources that are served.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kinds::definition::{Definition, Version};
use kinds::strategy::Strategy;
use machinery::meta;
use machinery::status::GroupResource;
use parking_lot::Mutex;
use serde_json::Value;

use super::converted::Converted;

/// One resource in one served version.
#[derive(Clone)]
pub struct Served {
    /// The resource.
    pub definition: Arc<Definition>,
    /// The version of the request.
    pub version: Arc<Version>,
    pub(super) resource: Arc<Resource>,
}

/// A resource and the state that the registry keeps for it.
pub(super) struct Resource {
    definition: Arc<Definition>,
    strategy: Arc<dyn Strategy>,
    /// Objects that were written at or before this revision may lack defaults of the current schema.
    changed_at: u64,
    /// Objects that satisfy all rules of one version: by key, the revision of the object and the version. Empty for built-in kinds, which
    /// several registries share.
    proven: Mutex<BTreeMap<String, (u64, Arc<Version>)>>,
    /// Objects that were converted to other versions.
    converted: Converted,
    /// The UID of the CustomResourceDefinition; empty for a built-in kind. A definition that is deleted and created again is another one,
    /// although its group and plural are the same.
    uid: String,
    /// Whether the definition is being deleted, so that objects cannot be created.
    terminating: AtomicBool,
    /// A hash that changes with each change of the definition's spec or accepted names.
    shape: u64,
}

/// The stored CustomResourceDefinition from which a resource was made. A built-in kind has none.
#[derive(Debug, Default)]
pub(crate) struct Origin {
    pub(crate) uid: String,
    /// The revision of the definition.
    pub(crate) revision: u64,
    /// Whether it is being deleted.
    pub(crate) terminating: bool,
    /// A hash that changes with each change of its spec or accepted names.
    pub(crate) shape: u64,
}

impl Origin {
    /// Describes a stored definition. Its hash contains the UID, so a definition that is deleted and created again gets another one.
    pub(crate) fn of(crd: &Value, revision: u64) -> Self {
        let uid = meta::uid(crd).to_owned();
        let said = [uid.clone(), crd["spec"].to_string(), crd["status"]["acceptedNames"].to_string()];
        let shape = machinery::hash::fnv1a_64(said.join("\n").as_bytes());
        Self { uid, revision, terminating: meta::is_deleting(crd), shape }
    }
}

impl Served {
    /// Returns the group and the plural, for errors.
    pub fn resource(&self) -> GroupResource<'_> {
        GroupResource { group: &self.definition.group, resource: &self.definition.plural }
    }

    /// Returns `group/version`, or only the version for the core group.
    pub fn api_version(&self) -> String {
        self.definition.api_version(&self.version.name)
    }

    /// Returns the resource in another one of its versions.
    pub(crate) fn at(&self, version: &Arc<Version>) -> Self {
        Self { version: version.clone(), ..self.clone() }
    }

    /// Returns whether the object stored under `key` at `revision` is known to satisfy the current rules of this
    /// version.
    pub(crate) fn holds(&self, key: &str, revision: u64) -> bool {
        let proven = self.resource.proven.lock();
        proven.get(key).is_some_and(|(at, version)| *at == revision && Arc::ptr_eq(version, &self.version))
    }

    /// Records whether the object stored under `key` at `revision` satisfies the rules of this version.
    pub(crate) fn prove(&self, key: &str, revision: u64, holds: bool) {
        if !self.version.schema.has_rules || self.definition.built_in {
            return;
        }
        let mut proven = self.resource.proven.lock();
        if holds {
            proven.insert(key.to_owned(), (revision, self.version.clone()));
        } else {
            proven.remove(key);
        }
    }

    /// Returns whether the definition, with all its versions, has not changed since this was looked up.
    pub(crate) fn is_current(&self, definitions: &Definitions) -> bool {
        let now = definitions.resource(&self.definition.group, &self.definition.plural);
        now.is_some_and(|now| now.shape == self.resource.shape)
    }

    /// Returns the UID of the CustomResourceDefinition; empty for a built-in kind.
    pub(crate) fn uid(&self) -> &str {
        &self.resource.uid
    }

    /// Returns the revision up to which objects that were written may lack defaults of the current schema: that of the definition.
    pub(crate) fn changed_at(&self) -> u64 {
        self.resource.changed_at
    }

    /// Returns the cache of the objects that were converted to other versions.
    pub(super) fn converted(&self) -> &Converted {
        &self.resource.converted
    }

    pub(crate) fn strategy(&self) -> &dyn Strategy {
        &*self.resource.strategy
    }
}

/// An immutable snapshot of all resources.
#[derive(Clone, Default)]
pub struct Definitions {
    /// Incremented with each change.
    pub generation: u64,
    by_resource: BTreeMap<(String, String), Arc<Resource>>,
}

impl Definitions {
    /// Returns the resource, or `None` if this version of it is not served.
    pub fn served(&self, group: &str, version: &str, plural: &str) -> Option<Served> {
        let resource = self.resource(group, plural)?;
        let version = resource.definition.version(version).filter(|version| version.served)?;
        Some(Served {
            definition: resource.definition.clone(),
            version: version.clone(),
            resource: resource.clone(),
        })
    }

    /// Returns the resource in its storage version.
    pub(crate) fn stored(&self, group: &str, plural: &str) -> Option<Served> {
        let resource = self.resource(group, plural)?;
        let version = resource.definition.version(&resource.definition.storage_version)?;
        Some(Served {
            definition: resource.definition.clone(),
            version: version.clone(),
            resource: resource.clone(),
        })
    }

    /// Returns whether `served` is still a resource of the same definition, and whether that definition is being deleted.
    pub(crate) fn life_of(&self, served: &Served) -> Life {
        let definition = &served.definition;
        match self.resource(&definition.group, &definition.plural) {
            Some(now) if now.uid != served.resource.uid => Life::Over,
            Some(now) if now.terminating.load(Ordering::Acquire) => Life::Ending,
            Some(_) => Life::Lasting,
            None => Life::Over,
        }
    }

    /// Marks the resource as being deleted, if its definition has this UID.
    pub(crate) fn end(&self, group: &str, plural: &str, uid: &str) {
        if let Some(resource) = self.resource(group, plural).filter(|resource| resource.uid == uid) {
            resource.terminating.store(true, Ordering::Release);
        }
    }

    fn resource(&self, group: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.by_resource.get(&(group.to_owned(), plural.to_owned()))
    }

    /// Returns the definition of the resource, even if none of its versions is served.
    pub fn get(&self, group: &str, plural: &str) -> Option<&Arc<Definition>> {
        self.resource(group, plural).map(|resource| &resource.definition)
    }

    /// Iterates over all resources, ordered by group and plural.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.by_resource.values().map(|resource| &resource.definition)
    }

    /// Returns the resource with the given `kind` in `group`.
    pub fn by_kind(&self, group: &str, kind: &str) -> Option<&Arc<Definition>> {
        self.iter().find(|definition| definition.group == group && definition.kind == kind)
    }

    /// Adds or replaces a resource.
    pub(crate) fn insert(&mut self, definition: Definition, origin: Origin) {
        let key = (definition.group.clone(), definition.plural.clone());
        let strategy = kinds::strategy(&definition);
        let definition = Arc::new(definition);
        self.by_resource.insert(
            key,
            Arc::new(Resource {
                definition,
                strategy,
                changed_at: origin.revision,
                proven: Mutex::default(),
                converted: Converted::default(),
                uid: origin.uid,
                terminating: AtomicBool::new(origin.terminating),
                shape: origin.shape,
            }),
        );
        self.changed();
    }

    /// Removes the resource of the definition with this UID. A definition that was created in its place stays.
    pub(crate) fn remove(&mut self, group: &str, plural: &str, uid: &str) {
        if self.resource(group, plural).is_some_and(|resource| resource.uid == uid) {
            self.by_resource.remove(&(group.to_owned(), plural.to_owned()));
            self.changed();
        }
    }

    fn changed(&mut self) {
        self.generation += 1;
        self.by_resource.values().for_each(|resource| resource.converted.clear());
    }
}

/// The state of the definition of a request's resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    /// It is the same, and lasts.
    Lasting,
    /// It is the same, and is being deleted.
    Ending,
    /// It is deleted. Another one may have its name.
    Over,
}

/// Group and plural of CustomResourceDefinitions.
pub(crate) const CRDS: (&str, &str) = ("apiextensions.k8s.io", "customresourcedefinitions");

pub(crate) fn is_crd(served: &Served) -> bool {
    (served.definition.group.as_str(), served.definition.plural.as_str()) == CRDS
}
