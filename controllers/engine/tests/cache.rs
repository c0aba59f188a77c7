//! Tests of `engine::cache`.

mod packed;

use std::sync::Arc;

use engine::testing::{Contents, stored};
use engine::{Cache, NamespacedName, names};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::ObjectMeta;

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
    assert_eq!(engine::object::version(cache.get(&key("a")).unwrap().as_ref()), 5);
    assert_eq!(cache.by_cluster(&key("c")).len(), 1);
    assert_eq!(cache.in_namespace("default").len(), 1);
}

#[test]
fn own_deletions_are_final() {
    let contents = Arc::<Contents>::default();
    let cache = Cache::<ConfigMap>::of(contents.clone());
    cache.observe(object("a", "1", 5));
    cache.forget(&key("a"), "1");
    cache.observe(object("a", "1", 6));
    assert!(cache.get(&key("a")).is_none(), "a late event of a deleted object");
    cache.observe(object("a", "2", 7));
    contents.observe_deleted(&key("a"), "1");
    assert_eq!(cache.get(&key("a")).unwrap().metadata.uid.as_deref(), Some("2"));
}

/// A status patch races with the deletion of its object: the response comes after the watch reported the
/// deletion.
#[test]
fn a_late_answer_does_not_bring_an_object_back() {
    let contents = Arc::<Contents>::default();
    let cache = Cache::<ConfigMap>::of(contents.clone());
    cache.observe(object("a", "1", 5));
    contents.observe_deleted(&key("a"), "1");
    cache.observe(object("a", "1", 6));
    assert!(cache.get(&key("a")).is_none());
}

#[test]
fn a_list_keeps_what_is_younger_than_it() {
    let contents = Arc::<Contents>::default();
    let cache = Cache::<ConfigMap>::of(contents.clone());
    cache.observe(object("old", "1", 3));
    cache.observe(object("young", "2", 12));
    cache.observe(object("unreadable", "4", 5));
    contents.observe_list(vec![stored(object("listed", "3", 4))], &[key("unreadable")].into(), 10);
    let names: Vec<_> = cache.all().iter().map(|object| object.metadata.name.clone().unwrap()).collect();
    assert_eq!(names, ["listed", "unreadable", "young"]);
}
