//! The cache of a kind: all its objects, indexes over them, and the subscribers to their changes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use kube::Resource;
use parking_lot::RwLock;
use tokio::sync::watch;

use crate::names;
use crate::object::{self, Kind, NamespacedName, Request};
use crate::queue::Queue;

/// A change of an object. `old` is `None` for a new object, and `new` is `None` for a deleted one.
pub struct Change<K> {
    /// The object before the change.
    pub old: Option<Arc<K>>,
    /// The object after the change.
    pub new: Option<Arc<K>>,
}

impl<K: Kind> Change<K> {
    /// Returns the object before and after the change, each if present.
    pub fn objects(&self) -> impl Iterator<Item = &Arc<K>> {
        self.old.iter().chain(self.new.iter())
    }

    /// Returns the object's namespace and name.
    pub fn name(&self) -> NamespacedName {
        self.new
            .as_ref()
            .or(self.old.as_ref())
            .map(|object| NamespacedName::of(object.as_ref()))
            .unwrap_or_default()
    }
}

type Subscriber<K> = Arc<dyn Fn(&Change<K>) + Send + Sync>;
type IndexFunction<K> = Box<dyn Fn(&K) -> Vec<String> + Send + Sync>;

/// Every object of a kind, kept current by a watch and by the responses to this process's own writes.
///
/// Invariant: an object's version in the cache never goes back, and a deleted object does not come back.
pub struct Cache<K: Kind> {
    state: RwLock<State<K>>,
    subscribers: RwLock<Vec<Subscriber<K>>>,
    synced: watch::Sender<bool>,
}

struct State<K> {
    objects: BTreeMap<NamespacedName, Arc<K>>,
    /// UIDs of the objects deleted last. The response of a request that was in flight while its object was
    /// deleted may arrive after the deletion event; it must not bring the object back.
    deleted: Tombstones,
    indexes: Vec<Index<K>>,
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

struct Index<K> {
    name: &'static str,
    values: IndexFunction<K>,
    entries: BTreeMap<String, BTreeSet<NamespacedName>>,
}

const BY_OWNER: &str = "owner";
const BY_CLUSTER: &str = "cluster";

impl<K: Kind> Default for Cache<K> {
    fn default() -> Self {
        let mut state =
            State { objects: BTreeMap::new(), deleted: Tombstones::default(), indexes: Vec::new() };
        state.index(BY_OWNER, Box::new(owner_uids));
        state.index(BY_CLUSTER, Box::new(cluster_keys));
        Self { state: RwLock::new(state), subscribers: RwLock::default(), synced: watch::Sender::new(false) }
    }
}

fn owner_uids<K: Resource>(object: &K) -> Vec<String> {
    object.meta().owner_references.iter().flatten().map(|owner| owner.uid.clone()).collect()
}

fn cluster_keys<K: Kind>(object: &K) -> Vec<String> {
    let namespace = object.meta().namespace.as_deref().unwrap_or_default();
    object::label(object, names::CLUSTER_NAME).map(|name| format!("{namespace}/{name}")).into_iter().collect()
}

impl<K: Kind> State<K> {
    fn index(&mut self, name: &'static str, values: IndexFunction<K>) {
        if self.indexes.iter().any(|index| index.name == name) {
            return;
        }
        let mut index = Index { name, values, entries: BTreeMap::new() };
        for (key, object) in &self.objects {
            index.insert(key, object);
        }
        self.indexes.push(index);
    }

    fn replace(&mut self, key: &NamespacedName, new: Option<Arc<K>>) -> Change<K> {
        let old = match &new {
            Some(object) => self.objects.insert(key.clone(), object.clone()),
            None => self.objects.remove(key),
        };
        for index in &mut self.indexes {
            if let Some(old) = &old {
                index.remove(key, old);
            }
            if let Some(new) = &new {
                index.insert(key, new);
            }
        }
        Change { old, new }
    }
}

impl<K> Index<K> {
    fn insert(&mut self, key: &NamespacedName, object: &K) {
        for value in (self.values)(object) {
            self.entries.entry(value).or_default().insert(key.clone());
        }
    }

    fn remove(&mut self, key: &NamespacedName, object: &K) {
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

impl<K: Kind> Cache<K> {
    /// Returns the object with this name, or `None`.
    pub fn get(&self, key: &NamespacedName) -> Option<Arc<K>> {
        self.state.read().objects.get(key).cloned()
    }

    /// Returns every object, in order of namespace and name.
    pub fn all(&self) -> Vec<Arc<K>> {
        self.state.read().objects.values().cloned().collect()
    }

    /// Returns every object of a namespace, in order of name.
    pub fn in_namespace(&self, namespace: &str) -> Vec<Arc<K>> {
        let from = NamespacedName::new(namespace, "");
        let state = self.state.read();
        state
            .objects
            .range(from..)
            .take_while(|(key, _)| key.namespace == namespace)
            .map(|(_, object)| object.clone())
            .collect()
    }

    /// Returns the objects with an owner reference to `uid`.
    pub fn by_owner(&self, uid: &str) -> Vec<Arc<K>> {
        self.by_index(BY_OWNER, uid)
    }

    /// Returns the objects in the cluster's namespace whose cluster-name label names `cluster`.
    pub fn by_cluster(&self, cluster: &NamespacedName) -> Vec<Arc<K>> {
        self.by_index(BY_CLUSTER, &format!("{}/{}", cluster.namespace, cluster.name))
    }

    /// Returns the objects for which the index function of `name` returned `value`.
    pub fn by_index(&self, name: &str, value: &str) -> Vec<Arc<K>> {
        let state = self.state.read();
        let keys =
            state.indexes.iter().find(|index| index.name == name).and_then(|index| index.entries.get(value));
        keys.into_iter().flatten().filter_map(|key| state.objects.get(key).cloned()).collect()
    }

    /// Adds an index; a second index of the same name is ignored.
    pub fn index(&self, name: &'static str, values: impl Fn(&K) -> Vec<String> + Send + Sync + 'static) {
        self.state.write().index(name, Box::new(values));
    }

    /// Calls `listener` for each change from now on, and once for each object that is already cached.
    pub fn subscribe(&self, listener: impl Fn(&Change<K>) + Send + Sync + 'static) {
        let listener: Subscriber<K> = Arc::new(listener);
        self.subscribers.write().push(listener.clone());
        for object in self.all() {
            listener(&Change { old: None, new: Some(object) });
        }
    }

    /// Adds the requests that `mapper` returns for each change to `queue`.
    pub fn notify(
        &self,
        queue: &Arc<Queue>,
        mapper: impl Fn(&Change<K>) -> Vec<Request> + Send + Sync + 'static,
    ) {
        let queue = queue.clone();
        self.subscribe(move |change| mapper(change).into_iter().for_each(|request| queue.add(request)));
    }

    /// Waits until the first list is in the cache.
    pub async fn wait_until_synced(&self) {
        // The sender lives as long as the cache, so waiting cannot fail.
        let _ = self.synced.subscribe().wait_for(|synced| *synced).await;
    }

    /// Returns a receiver of whether the cache is synced, which can be read without the cache.
    pub(crate) fn synced(&self) -> watch::Receiver<bool> {
        self.synced.subscribe()
    }

    /// Returns whether the first list is in the cache.
    pub fn is_synced(&self) -> bool {
        *self.synced.borrow()
    }

    /// Stores `object` unless the cache has this version or a later one. Called with each watch event and
    /// with the response to each of this process's writes.
    pub fn observe(&self, mut object: K) -> Arc<K> {
        // Controllers never read managedFields from a cache, and they are half of an object's size.
        object.meta_mut().managed_fields = None;
        let key = NamespacedName::of(&object);
        let object = Arc::new(object);
        let change = {
            let mut state = self.state.write();
            if state.deleted.contains(object::uid(object.as_ref())) {
                return object;
            }
            if let Some(current) = state.objects.get(&key)
                && object::version(current.as_ref()) >= object::version(object.as_ref())
            {
                return object;
            }
            state.replace(&key, Some(object.clone()))
        };
        self.publish(&change);
        object
    }

    /// Returns whether observing this version of the object would change nothing.
    pub(crate) fn has(&self, key: &NamespacedName, uid: &str, version: &str) -> bool {
        let state = self.state.read();
        let known = |object: &Arc<K>| {
            let version = version.parse().unwrap_or(u64::MAX);
            object::uid(object.as_ref()) == uid && object::version(object.as_ref()) >= version
        };
        state.deleted.contains(uid) || state.objects.get(key).is_some_and(known)
    }

    /// Records the deletion of the object with this UID that the watch reported.
    pub(crate) fn observe_deleted(&self, key: &NamespacedName, uid: &str) {
        self.state.write().deleted.insert(uid);
        self.remove(key, uid);
    }

    /// Records the deletion of the object with this UID that a response to this process's own request
    /// reported.
    pub(crate) fn forget(&self, key: &NamespacedName, uid: &str) {
        let known = {
            let mut state = self.state.write();
            state.deleted.insert(uid);
            state.objects.get(key).is_some_and(|object| object::uid(object.as_ref()) == uid)
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
                Some(current) if object::uid(current.as_ref()) == uid => state.replace(key, None),
                _ => return,
            }
        };
        self.publish(&change);
    }

    /// Replaces the contents by a complete list as of `version`; objects newer than the list stay, and those of the names in `kept`, which
    /// are in the list but not in `objects`: they have not changed, or could not be decoded.
    pub(crate) fn observe_list(&self, objects: Vec<K>, kept: &BTreeSet<NamespacedName>, version: u64) {
        let listed: BTreeMap<NamespacedName, String> = objects
            .iter()
            .map(|object| (NamespacedName::of(object), object::uid(object).to_owned()))
            .collect();
        let gone: Vec<(NamespacedName, String)> = {
            let state = self.state.write();
            let is_gone = |key: &NamespacedName, object: &K| {
                listed.get(key).is_none_or(|uid| uid != object::uid(object))
                    && object::version(object) <= version
                    && !kept.contains(key)
            };
            let all = state.objects.iter();
            all.filter(|(key, object)| is_gone(key, object))
                .map(|(key, object)| (key.clone(), object::uid(object.as_ref()).to_owned()))
                .collect()
        };
        for (key, uid) in gone {
            self.state.write().deleted.insert(&uid);
            self.remove(&key, &uid);
        }
        for object in objects {
            self.observe(object);
        }
        self.synced.send_replace(true);
    }

    fn publish(&self, change: &Change<K>) {
        let subscribers = self.subscribers.read().clone();
        for subscriber in subscribers {
            subscriber(change);
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    use super::*;

    fn object(name: &str, uid: &str, version: u64) -> ConfigMap {
        let metadata = ObjectMeta {
            name: Some(name.into()),
            namespace: Some("default".into()),
            uid: Some(uid.into()),
            resource_version: Some(version.to_string()),
            labels: Some([(names::CLUSTER_NAME.to_owned(), "c".to_owned())].into()),
            ..ObjectMeta::default()
        };
        ConfigMap { metadata, ..ConfigMap::default() }
    }

    fn key(name: &str) -> NamespacedName {
        NamespacedName::new("default", name)
    }

    #[test]
    fn versions_never_go_back() {
        let cache = Cache::<ConfigMap>::default();
        cache.observe(object("a", "1", 5));
        cache.observe(object("a", "1", 3));
        assert_eq!(object::version(cache.get(&key("a")).unwrap().as_ref()), 5);
        assert_eq!(cache.by_cluster(&key("c")).len(), 1);
        assert_eq!(cache.in_namespace("default").len(), 1);
    }

    #[test]
    fn own_deletions_are_final() {
        let cache = Cache::<ConfigMap>::default();
        cache.observe(object("a", "1", 5));
        cache.forget(&key("a"), "1");
        cache.observe(object("a", "1", 6));
        assert!(cache.get(&key("a")).is_none(), "a late event of a deleted object");
        cache.observe(object("a", "2", 7));
        cache.observe_deleted(&key("a"), "1");
        assert_eq!(cache.get(&key("a")).unwrap().metadata.uid.as_deref(), Some("2"));
    }

    /// A status patch races with the deletion of its object: the response comes after the watch reported the
    /// deletion.
    #[test]
    fn a_late_answer_does_not_bring_an_object_back() {
        let cache = Cache::<ConfigMap>::default();
        cache.observe(object("a", "1", 5));
        cache.observe_deleted(&key("a"), "1");
        cache.observe(object("a", "1", 6));
        assert!(cache.get(&key("a")).is_none());
    }

    #[test]
    fn a_list_keeps_what_is_younger_than_it() {
        let cache = Cache::<ConfigMap>::default();
        cache.observe(object("old", "1", 3));
        cache.observe(object("young", "2", 12));
        cache.observe(object("unreadable", "4", 5));
        cache.observe_list(vec![object("listed", "3", 4)], &[key("unreadable")].into(), 10);
        let names: Vec<_> = cache.all().iter().map(|object| object.metadata.name.clone().unwrap()).collect();
        assert_eq!(names, ["listed", "unreadable", "young"]);
    }
}
