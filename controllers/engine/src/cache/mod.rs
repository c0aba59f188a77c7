//! The cache of a kind: all its objects, indexes over them, and the subscribers to their changes.

pub mod contents;
pub mod packed;

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::object::{Kind, NamespacedName, Request};
use crate::queue::{Cause, Queue};

pub(crate) use contents::{Contents, Object, Stored};
pub(crate) use packed::{Decode, packed};

/// A change of an object. `old` is `None` for a new object, and `new` is `None` for a deleted one.
pub struct Change<K: ?Sized> {
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
        self.objects().last().map(|object| NamespacedName::of(object.as_ref())).unwrap_or_default()
    }
}

/// Every object of a kind, kept current by a watch and by the responses to this process's own writes. Clones share the objects.
///
/// Invariant: an object's version in the cache never goes back, and a deleted object does not come back.
pub struct Cache<K: Kind> {
    contents: Arc<Contents>,
    kind: PhantomData<fn() -> K>,
}

impl<K: Kind> Clone for Cache<K> {
    fn clone(&self) -> Self {
        Self::of(self.contents.clone())
    }
}

impl<K: Kind> Default for Cache<K> {
    fn default() -> Self {
        Self::of(Arc::default())
    }
}

fn typed<K: Kind>(object: Stored) -> Option<Arc<K>> {
    let object: Arc<dyn Any + Send + Sync> = object.unpacked()?;
    object.downcast().ok()
}

fn all_typed<K: Kind>(objects: Vec<Stored>) -> Vec<Arc<K>> {
    objects.into_iter().filter_map(typed).collect()
}

/// Returns the form in which a cache keeps an object. Controllers never read managedFields from a cache, and they are half of an object's
/// size.
pub fn stored<K: Kind>(mut object: K) -> Arc<K> {
    object.meta_mut().managed_fields = None;
    Arc::new(object)
}

impl<K: Kind> Cache<K> {
    /// Returns the view of `contents`, all of whose objects have this type.
    pub fn of(contents: Arc<Contents>) -> Self {
        Self { contents, kind: PhantomData }
    }

    /// Returns the object with this name, or `None`.
    pub fn get(&self, key: &NamespacedName) -> Option<Arc<K>> {
        self.contents.get(key).and_then(typed)
    }

    /// Returns every object, in order of namespace and name.
    pub fn all(&self) -> Vec<Arc<K>> {
        all_typed(self.contents.all())
    }

    /// Returns every object of a namespace, in order of name.
    pub fn in_namespace(&self, namespace: &str) -> Vec<Arc<K>> {
        all_typed(self.contents.in_namespace(namespace))
    }

    /// Returns the objects with an owner reference to `uid`.
    pub fn by_owner(&self, uid: &str) -> Vec<Arc<K>> {
        all_typed(self.contents.by_owner(uid))
    }

    /// Returns the objects in the cluster's namespace whose cluster-name label names `cluster`.
    pub fn by_cluster(&self, cluster: &NamespacedName) -> Vec<Arc<K>> {
        all_typed(self.contents.by_cluster(cluster))
    }

    /// Returns the objects for which the index function of `name` returned `value`.
    pub fn by_index(&self, name: &str, value: &str) -> Vec<Arc<K>> {
        all_typed(self.contents.by_index(name, value))
    }

    /// Adds an index; a second index of the same name is ignored.
    pub fn index(&self, name: &'static str, values: impl Fn(&K) -> Vec<String> + Send + Sync + 'static) {
        let values = move |object: &dyn Object| {
            let object: &dyn Any = object;
            object.downcast_ref().map(&values).unwrap_or_default()
        };
        self.contents.index(name, Box::new(values));
    }

    /// Calls `listener` for each change from now on, and once for each object that is already cached.
    pub fn subscribe(&self, listener: impl Fn(&Change<K>) + Send + Sync + 'static) {
        self.contents.subscribe(Arc::new(move |change: &Change<dyn Object>| {
            let of_kind = |object: &Option<Stored>| object.clone().and_then(typed);
            listener(&Change { old: of_kind(&change.old), new: of_kind(&change.new) });
        }));
    }

    /// Adds the requests that `mapper` returns for each change to `queue`. `kind` is that of the objects.
    pub fn notify(
        &self,
        queue: &Arc<Queue>,
        kind: &str,
        mapper: impl Fn(&Change<K>) -> Vec<Request> + Send + Sync + 'static,
    ) {
        let (queue, cause) = (queue.clone(), Cause::Changed(kind.into()));
        self.subscribe(move |change| {
            mapper(change).into_iter().for_each(|request| queue.add(request, cause.clone()));
        });
    }

    /// Waits until the first list is in the cache.
    pub async fn wait_until_synced(&self) {
        self.contents.wait_until_synced().await;
    }

    /// Returns whether the first list is in the cache.
    pub fn is_synced(&self) -> bool {
        self.contents.is_synced()
    }

    /// Stores `object` unless the cache has this version or a later one. Called with the response to each of this process's writes.
    pub fn observe(&self, object: K) -> Arc<K> {
        let object = stored(object);
        self.contents.observe(object.clone());
        object
    }

    /// Records the deletion of the object with this UID that a response to this process's own request
    /// reported.
    pub fn forget(&self, key: &NamespacedName, uid: &str) {
        self.contents.forget(key, uid);
    }
}
