//! Tests of `engine::cache::packed`.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::testing::{Contents, Stored, is_wide, packed, stored};
use engine::{Cache, Kind, NamespacedName, names};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use serde_json::{Value, json};

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
