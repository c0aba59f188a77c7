//! What a cache holds, whatever the type of the objects: this code is compiled once, and not once for each of dozens of kinds.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use kube::core::ObjectMeta;
use parking_lot::RwLock;
use tokio::sync::SetOnce;

use super::Change;
use crate::names;
use crate::object::{Kind, NamespacedName, uid_of, version_of};
use crate::resident::resident;

/// An object of any kind.
pub trait Object: Any + Send + Sync {
    /// Returns the object's metadata, or of a packed object those that a cache needs.
    fn metadata(&self) -> &ObjectMeta;

    /// Returns about how many bytes of memory the object takes.
    fn resident(&self) -> usize;

    /// Returns the object of the cache's kind; `None` if it is packed and cannot be read.
    fn unpacked(self: Arc<Self>) -> Option<Stored>;
}

impl<K: Kind> Object for K {
    fn metadata(&self) -> &ObjectMeta {
        self.meta()
    }

    fn resident(&self) -> usize {
        resident(self)
    }

    fn unpacked(self: Arc<Self>) -> Option<Stored> {
        Some(self)
    }
}

/// An object in a cache.
pub type Stored = Arc<dyn Object>;

type Subscriber = Arc<dyn Fn(&Change<dyn Object>) + Send + Sync>;
type IndexFunction = Box<dyn Fn(&dyn Object) -> Vec<String> + Send + Sync>;

/// The objects of one kind, see [`super::Cache`].
pub struct Contents {
    state: RwLock<State>,
    subscribers: RwLock<Vec<Subscriber>>,
    /// Set by the first list. Those who wait are woken in the order in which they came, so that a simulation is the same in each run; `tokio::sync::watch`
    /// has a random order.
    synced: SetOnce<()>,
}

struct State {
    objects: BTreeMap<NamespacedName, Stored>,
    /// UIDs of the objects deleted last. The response of a request that was in flight while its object was
    /// deleted may arrive after the deletion event; it must not bring the object back.
    deleted: Tombstones,
    indexes: Vec<Index>,
}

/// The number of UIDs that are remembered: far more than the requests that can be in flight.
const TOMBSTONES: usize = 4096;

#[derive(Default)]
struct Tombstones {
    uids: BTreeSet<String>,
    order: VecDeque<String>,
}

impl Tombstones {
    fn insert(&mut self, uid: &str) {
        if uid.is_empty() || !self.uids.insert(uid.to_owned()) {
            return;
        }
        self.order.push_back(uid.to_owned());
        if self.order.len() > TOMBSTONES
            && let Some(oldest) = self.order.pop_front()
        {
            self.uids.remove(&oldest);
        }
    }

    fn contains(&self, uid: &str) -> bool {
        self.uids.contains(uid)
    }
}

struct Index {
    name: &'static str,
    values: IndexFunction,
    entries: BTreeMap<String, BTreeSet<NamespacedName>>,
}

const BY_OWNER: &str = "owner";
const BY_CLUSTER: &str = "cluster";

impl Default for Contents {
    fn default() -> Self {
        let mut state =
            State { objects: BTreeMap::new(), deleted: Tombstones::default(), indexes: Vec::new() };
        state.index(BY_OWNER, Box::new(owner_uids));
        state.index(BY_CLUSTER, Box::new(cluster_keys));
        Self { state: RwLock::new(state), subscribers: RwLock::default(), synced: SetOnce::new() }
    }
}

fn owner_uids(object: &dyn Object) -> Vec<String> {
    object.metadata().owner_references.iter().flatten().map(|owner| owner.uid.clone()).collect()
}

fn cluster_keys(object: &dyn Object) -> Vec<String> {
    let metadata = object.metadata();
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let cluster = metadata.labels.as_ref().and_then(|labels| labels.get(names::CLUSTER_NAME));
    cluster.map(|name| format!("{namespace}/{name}")).into_iter().collect()
}

impl State {
    fn index(&mut self, name: &'static str, values: IndexFunction) {
        if self.indexes.iter().any(|index| index.name == name) {
            return;
        }
        let mut index = Index { name, values, entries: BTreeMap::new() };
        for (key, object) in &self.objects {
            if let Some(object) = object.clone().unpacked() {
                index.insert(key, object.as_ref());
            }
        }
        self.indexes.push(index);
    }

    fn replace(&mut self, key: &NamespacedName, new: Option<Stored>) -> Change<dyn Object> {
        let old = match &new {
            Some(object) => self.objects.insert(key.clone(), object.clone()),
            None => self.objects.remove(key),
        };
        // The change has the objects themselves, so that they are unpacked once for all indexes and subscribers.
        let old = old.and_then(|object| object.unpacked());
        let new = new.and_then(|object| object.unpacked());
        for index in &mut self.indexes {
            if let Some(old) = &old {
                index.remove(key, old.as_ref());
            }
            if let Some(new) = &new {
                index.insert(key, new.as_ref());
            }
        }
        Change { old, new }
    }
}

impl Index {
    fn insert(&mut self, key: &NamespacedName, object: &dyn Object) {
        for value in (self.values)(object) {
            self.entries.entry(value).or_default().insert(key.clone());
        }
    }

    fn remove(&mut self, key: &NamespacedName, object: &dyn Object) {
        for value in (self.values)(object) {
            if let Some(keys) = self.entries.get_mut(&value) {
                keys.remove(key);
                if keys.is_empty() {
                    self.entries.remove(&value);
                }
            }
        }
    }
}

impl Contents {
    /// Returns the object with this name, or `None`.
    pub fn get(&self, key: &NamespacedName) -> Option<Stored> {
        self.state.read().objects.get(key).cloned()
    }

    /// Returns every object, in order of namespace and name.
    pub fn all(&self) -> Vec<Stored> {
        self.state.read().objects.values().cloned().collect()
    }

    /// Returns the names of all objects.
    pub fn names(&self) -> BTreeSet<NamespacedName> {
        self.state.read().objects.keys().cloned().collect()
    }

    /// Returns every object of a namespace, in order of name.
    pub fn in_namespace(&self, namespace: &str) -> Vec<Stored> {
        let from = NamespacedName::new(namespace, "");
        let state = self.state.read();
        let all = state.objects.range(from..).take_while(|(key, _)| key.namespace == namespace);
        all.map(|(_, object)| object.clone()).collect()
    }

    /// Returns the objects with an owner reference to `uid`.
    pub fn by_owner(&self, uid: &str) -> Vec<Stored> {
        self.by_index(BY_OWNER, uid)
    }

    /// Returns the objects in the cluster's namespace whose cluster-name label names `cluster`.
    pub fn by_cluster(&self, cluster: &NamespacedName) -> Vec<Stored> {
        self.by_index(BY_CLUSTER, &format!("{}/{}", cluster.namespace, cluster.name))
    }

    /// Returns the objects for which the index function of `name` returned `value`.
    pub fn by_index(&self, name: &str, value: &str) -> Vec<Stored> {
        let state = self.state.read();
        let keys =
            state.indexes.iter().find(|index| index.name == name).and_then(|index| index.entries.get(value));
        keys.into_iter().flatten().filter_map(|key| state.objects.get(key).cloned()).collect()
    }

    /// Adds an index; a second index of the same name is ignored.
    pub fn index(&self, name: &'static str, values: IndexFunction) {
        self.state.write().index(name, values);
    }

    /// Calls `listener` for each change from now on, and once for each object that is already here.
    pub fn subscribe(&self, listener: Subscriber) {
        self.subscribers.write().push(listener.clone());
        for object in self.all() {
            listener(&Change { old: None, new: Some(object) });
        }
    }

    /// Waits until the first list is here.
    pub async fn wait_until_synced(&self) {
        self.synced.wait().await;
    }

    /// Returns whether the first list is here.
    pub fn is_synced(&self) -> bool {
        self.synced.initialized()
    }

    /// Stores `object` unless this version or a later one is here. Called with each watch event and with the response to each of this
    /// process's writes.
    pub fn observe(&self, object: Stored) {
        let metadata = object.metadata();
        let key = NamespacedName::of_metadata(metadata);
        let change = {
            let mut state = self.state.write();
            if state.deleted.contains(uid_of(metadata)) {
                return;
            }
            if let Some(current) = state.objects.get(&key)
                && version_of(current.metadata()) >= version_of(metadata)
            {
                return;
            }
            state.replace(&key, Some(object))
        };
        self.publish(&change);
    }

    /// Returns whether observing this version of the object would change nothing.
    pub fn has(&self, key: &NamespacedName, uid: &str, version: &str) -> bool {
        let state = self.state.read();
        let known = |object: &Stored| {
            let version = version.parse().unwrap_or(u64::MAX);
            uid_of(object.metadata()) == uid && version_of(object.metadata()) >= version
        };
        state.deleted.contains(uid) || state.objects.get(key).is_some_and(known)
    }

    /// Records the deletion of the object with this UID that the watch reported.
    pub fn observe_deleted(&self, key: &NamespacedName, uid: &str) {
        self.state.write().deleted.insert(uid);
        self.remove(key, uid);
    }

    /// Records the deletion of the object with this UID that a response to this process's own request
    /// reported.
    pub fn forget(&self, key: &NamespacedName, uid: &str) {
        let known = {
            let mut state = self.state.write();
            state.deleted.insert(uid);
            state.objects.get(key).is_some_and(|object| uid_of(object.metadata()) == uid)
        };
        if known {
            self.remove(key, uid);
        }
    }

    fn remove(&self, key: &NamespacedName, uid: &str) {
        let change = {
            let mut state = self.state.write();
            match state.objects.get(key) {
                // A new object with the same name but another UID stays.
                Some(current) if uid_of(current.metadata()) == uid => state.replace(key, None),
                _ => return,
            }
        };
        self.publish(&change);
    }

    /// Replaces the contents by a complete list as of `version`; objects newer than the list stay, and those of the names in `kept`, which
    /// are in the list but not in `objects`: they have not changed, or could not be decoded.
    pub fn observe_list(&self, objects: Vec<Stored>, kept: &BTreeSet<NamespacedName>, version: u64) {
        let listed: BTreeMap<NamespacedName, &str> = objects
            .iter()
            .map(|object| (NamespacedName::of_metadata(object.metadata()), uid_of(object.metadata())))
            .collect();
        let gone: Vec<(NamespacedName, String)> = {
            let state = self.state.read();
            let is_gone = |key: &NamespacedName, metadata: &ObjectMeta| {
                listed.get(key).is_none_or(|uid| *uid != uid_of(metadata))
                    && version_of(metadata) <= version
                    && !kept.contains(key)
            };
            let all = state.objects.iter().map(|(key, object)| (key, object.metadata()));
            all.filter(|(key, metadata)| is_gone(key, metadata))
                .map(|(key, metadata)| (key.clone(), uid_of(metadata).to_owned()))
                .collect()
        };
        for (key, uid) in gone {
            self.observe_deleted(&key, &uid);
        }
        for object in objects {
            self.observe(object);
        }
        // Only the first list finds it unset.
        let _ = self.synced.set(());
    }

    fn publish(&self, change: &Change<dyn Object>) {
        let subscribers = self.subscribers.read().clone();
        for subscriber in subscribers {
            subscriber(change);
        }
    }
}
