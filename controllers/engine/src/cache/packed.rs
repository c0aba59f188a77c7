//! Objects that would take many times the memory of their text: those with thousands of small values, which anybody may write into a Secret.
//! A cache keeps their text, compressed, and decodes it for those who ask.

use std::io::{Read, Write};
use std::sync::{Arc, Weak};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use kube::core::ObjectMeta;
use parking_lot::Mutex;

use super::contents::{Object, Stored};
use crate::names;
use crate::resident::resident;

/// Shorter objects are kept as they are. Size of the text in bytes.
const WIDE_FROM_BYTES: usize = 2 * 1024;
/// Objects are packed if they take more than this many times their text.
const TIMES: usize = 4;
/// About the memory of a string and of its place in a map, in bytes, for each of the quotes around it.
const QUOTE_BYTES: usize = 20;
/// About the memory of a value's place in a list or map in bytes.
const COMMA_BYTES: usize = 32;

/// How the text of an object is decoded.
pub(crate) type Decode = fn(&str) -> serde_json::Result<Stored>;

/// Returns whether an object takes many times the memory of its text.
fn is_wide(text: &str) -> bool {
    let count = |wanted: u8| text.bytes().filter(|byte| *byte == wanted).count();
    let decoded = || count(b'"') * QUOTE_BYTES + count(b',') * COMMA_BYTES;
    text.len() >= WIDE_FROM_BYTES && decoded() > TIMES * text.len()
}

/// An object as compressed text.
struct Packed {
    /// What the cache itself needs of the metadata.
    metadata: ObjectMeta,
    text: Vec<u8>,
    decode: Decode,
    whole: Mutex<Whole>,
}

/// The object beside its text.
enum Whole {
    /// Nobody has asked for it yet. A cache asks at once, for its indexes.
    New(Stored),
    /// It is there as long as somebody uses it.
    Used(Weak<dyn Object>),
}

impl Object for Packed {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn resident(&self) -> usize {
        resident(&self.metadata) + self.text.len()
    }

    fn unpacked(self: Arc<Self>) -> Option<Stored> {
        let mut whole = self.whole.lock();
        let known = match &*whole {
            Whole::New(object) => Some(object.clone()),
            Whole::Used(object) => object.upgrade(),
        };
        let object = match known {
            Some(object) => object,
            None => {
                let mut text = String::new();
                DeflateDecoder::new(&self.text[..]).read_to_string(&mut text).ok()?;
                (self.decode)(&text).ok()?
            }
        };
        *whole = Whole::Used(Arc::downgrade(&object));
        Some(object)
    }
}

/// Returns an object in the form in which a cache keeps it. `text` is what `decode` has decoded to it.
pub(crate) fn packed(object: Stored, text: &str, decode: Decode) -> Stored {
    if !is_wide(text) {
        return object;
    }
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory does not fail.
    let Ok(mut packed) = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish()) else {
        return object;
    };
    packed.shrink_to_fit();
    let metadata = known(object.metadata());
    Arc::new(Packed { metadata, text: packed, decode, whole: Mutex::new(Whole::New(object)) })
}

/// Returns the metadata by which a cache finds and compares objects.
fn known(metadata: &ObjectMeta) -> ObjectMeta {
    let cluster = metadata.labels.as_ref().and_then(|labels| labels.get(names::CLUSTER_NAME));
    ObjectMeta {
        name: metadata.name.clone(),
        namespace: metadata.namespace.clone(),
        uid: metadata.uid.clone(),
        resource_version: metadata.resource_version.clone(),
        labels: cluster.map(|cluster| [(names::CLUSTER_NAME.to_owned(), cluster.clone())].into()),
        ..ObjectMeta::default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::{Value, json};

    use super::*;
    use crate::cache::{Cache, Contents, stored};
    use crate::object::{Kind, NamespacedName};

    fn decode<K: Kind>(text: &str) -> serde_json::Result<Stored> {
        Ok(stored(K::from_json(text.as_bytes())?))
    }

    fn text(version: u64, keys: usize) -> String {
        let data: BTreeMap<String, Value> = (0..keys).map(|key| (format!("k{key:05}"), json!(""))).collect();
        let labels = json!({names::CLUSTER_NAME: "c", "other": "label"});
        let metadata = json!({"name": "a", "namespace": "default", "uid": "u", "labels": labels,
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "owner"}],
            "resourceVersion": version.to_string()});
        json!({"metadata": metadata, "data": data}).to_string()
    }

    #[test]
    fn what_has_thousands_of_small_values_is_packed_and_found_like_any_other() {
        let contents = Arc::<Contents>::default();
        let cache = Cache::<ConfigMap>::of(contents.clone());
        cache.index("keys", |map| map.data.iter().flatten().map(|(key, _)| key.clone()).take(1).collect());
        let seen = Arc::<Mutex<Vec<(usize, usize)>>>::default();
        let listener = seen.clone();
        cache.subscribe(move |change| {
            let keys = |map: &Option<Arc<ConfigMap>>| {
                map.as_ref().map_or(0, |map| map.data.as_ref().map_or(0, BTreeMap::len))
            };
            listener.lock().push((keys(&change.old), keys(&change.new)));
        });
        let name = NamespacedName::new("default", "a");
        for (version, keys, is_packed) in [(1, 10_000, true), (2, 20_000, true), (3, 5, false)] {
            let text = text(version, keys);
            let object = packed(decode::<ConfigMap>(&text).unwrap(), &text, decode::<ConfigMap>);
            assert_eq!(object.metadata().owner_references.is_none(), is_packed, "{keys} keys");
            contents.observe(object);
            let found = cache.get(&name).unwrap();
            assert_eq!(found.data.as_ref().map_or(0, BTreeMap::len), keys);
            assert_eq!(found.metadata.labels.as_ref().unwrap()["other"], "label");
            assert_eq!(cache.by_owner("owner").len(), 1);
            assert_eq!(cache.by_cluster(&NamespacedName::new("default", "c")).len(), 1);
            assert_eq!(cache.by_index("keys", "k00000").len(), 1);
        }
        contents.observe_deleted(&name, "u");
        assert_eq!(*seen.lock(), [(0, 10_000), (10_000, 20_000), (20_000, 5), (5, 0)]);
        assert!(cache.by_owner("owner").is_empty() && cache.by_index("keys", "k00000").is_empty());
    }

    #[test]
    fn ordinary_objects_are_kept_as_they_are() {
        for text in [text(1, 5), json!({"data": {"a": "long, with, commas. ".repeat(1000)}}).to_string()] {
            assert!(!is_wide(&text), "{text:.100}");
        }
        assert!(is_wide(&text(1, 1000)));
    }
}
