//! Objects that etcd would refuse are refused, and what is stored already can still be read, reduced, deleted and written again.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use machinery::clock::Clock;
use machinery::random::Random;
use machinery::status::Status;
use registry::limits::{ENCRYPTION_ROOM_BYTES, ETCD_MESSAGE_BYTES_MAX, ETCD_REQUEST_BYTES_MAX};
use registry::{
    Context, DeleteOptions, Deleted, Input, Options, PatchBody, Registry, Served, Subresource, Written,
};
use serde_json::{Value, json};
use store::{Key, Memory, Operation, Store};

use crate::registry::common::{self, context, definition, version};

const TOO_LARGE: &str = "etcdserver: request is too large";

fn notes() -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    definition("notes", json!([version("v1", true, schema)]))
}

fn note(name: &str, bytes: usize) -> Value {
    json!({"apiVersion": "test.example.com/v1", "kind": "Note", "metadata": {"name": name}, "text": "x".repeat(bytes)})
}

async fn create(registry: &Registry, served: &Served, object: Value) -> Result<Written, Status> {
    registry.create(&mut context(), served, "default", Input::new(object)).await
}

/// Applies an object, whose field ownership is not dropped if it is too large.
async fn apply(registry: &Registry, served: &Served, object: Value) -> Result<Written, Status> {
    let name = object["metadata"]["name"].as_str().unwrap().to_owned();
    let body = PatchBody::Apply { input: Input::new(object), force: true };
    registry.patch(&mut context(), served, "default", &name, Subresource::None, body).await
}

fn refused<T: std::fmt::Debug>(result: Result<T, Status>) -> String {
    let status = result.unwrap_err();
    assert_eq!((status.code, status.reason), (500, ""), "{}", status.message);
    status.message
}

#[tokio::test]
async fn custom_objects_are_measured_by_their_json() {
    let (registry, _) = common::registry().await;
    let served = common::serve(&registry, &notes()).await;
    // The border, by halving: `fits` is stored, and one byte more is not.
    let (mut fits, mut not) = (0, ETCD_REQUEST_BYTES_MAX);
    while fits + 1 < not {
        let middle = fits.midpoint(not);
        match apply(&registry, &served, note("a", middle)).await {
            Ok(_) => fits = middle,
            refusal => {
                assert_eq!(refused(refusal), TOO_LARGE);
                not = middle;
            }
        }
    }
    let stored = registry.get(&served, "default", "a", Subresource::None, "").await.unwrap().len();
    let room = ETCD_REQUEST_BYTES_MAX - ENCRYPTION_ROOM_BYTES;
    assert!((room - 1024..room).contains(&stored), "{stored} of {room}");
    // Each of these characters is six bytes in Go's JSON.
    let mut escaped = note("b", 0);
    escaped["text"] = "<".repeat(fits / 6).into();
    apply(&registry, &served, escaped.clone()).await.unwrap();
    escaped["text"] = "<".repeat(fits / 6 + 2).into();
    assert_eq!(refused(apply(&registry, &served, escaped).await), TOO_LARGE);
    // kube-apiserver does not even send this.
    let message = refused(apply(&registry, &served, note("c", ETCD_MESSAGE_BYTES_MAX)).await);
    let start = "rpc error: code = ResourceExhausted desc = trying to send message larger than max (";
    assert!(message.starts_with(start) && message.ends_with(" vs. 2097152)"), "{message}");
    let mut dry = Context { dry_run: true, ..context() };
    let too_large = Input::new(note("d", ETCD_REQUEST_BYTES_MAX));
    registry.create(&mut dry, &served, "default", too_large).await.expect("nothing is sent to etcd");
}

#[tokio::test]
async fn field_ownership_makes_room() {
    let (registry, _) = common::registry().await;
    let served = common::serve(&registry, &notes()).await;
    let mut object = note("a", ETCD_REQUEST_BYTES_MAX - ENCRYPTION_ROOM_BYTES - 20_000);
    for index in 0..1000 {
        object[format!("f{index:04}")] = 1.into();
    }
    assert_eq!(refused(apply(&registry, &served, object.clone()).await), TOO_LARGE);
    let created = create(&registry, &served, object).await.unwrap();
    let created: Value = serde_json::from_slice(&created.object).unwrap();
    assert_eq!(created["metadata"].get("managedFields"), None);
}

#[tokio::test]
async fn built_in_objects_are_measured_by_their_protobuf() {
    let (registry, _) = common::registry().await;
    let secrets = registry.served("", "v1", "secrets").unwrap();
    // Three bytes of a Secret are four in JSON.
    let secret = |name: &str, annotation: usize| {
        json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": name, "annotations": {"a": "x".repeat(annotation)}},
            "data": {"a": "AAAA".repeat(1024 * 1024 / 3)}})
    };
    let created = create(&registry, &secrets, secret("a", 200 * 1024)).await.unwrap();
    assert!(created.object.len() > ETCD_REQUEST_BYTES_MAX, "{}", created.object.len());
    let maps = registry.served("", "v1", "configmaps").unwrap();
    let map = |finalizers: usize| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a",
            "finalizers": (0..finalizers).map(|n| format!("example.com/{n:040}")).collect::<Vec<_>>()},
            "data": {"a": "x".repeat(1024 * 1024 - 10)}})
    };
    create(&registry, &maps, map(10)).await.unwrap();
    assert_eq!(refused(apply(&registry, &maps, map(5_000)).await), TOO_LARGE);
}

/// Returns a registry with an object of two MiB, which is stored already.
async fn with_stored(finalizers: &[&str]) -> (Registry, Served) {
    let clock = Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap());
    let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
    let registry = Registry::open(store.clone(), clock, Random::seeded(1), Options::default()).await.unwrap();
    let served = common::serve(&registry, &notes()).await;
    let mut object = note("a", 2 * 1024 * 1024);
    let metadata = json!({"name": "a", "namespace": "default", "uid": "u", "generation": 1,
        "creationTimestamp": "2026-11-21T00:00:00Z", "finalizers": finalizers});
    object["metadata"] = metadata;
    let key = Key::parse("/registry/test.example.com/notes/default/a").unwrap();
    let text = move |revision: store::Revision| {
        object["metadata"]["resourceVersion"] = revision.0.to_string().into();
        bytes::Bytes::from(object.to_string())
    };
    store.commit(vec![Operation::create(key, text)]).await.unwrap();
    (registry, served)
}

async fn patch(registry: &Registry, served: &Served, patch: Value) -> Result<Written, Status> {
    let body = PatchBody::Merge(patch.to_string().into());
    registry.patch(&mut context(), served, "default", "a", Subresource::None, body).await
}

#[tokio::test]
async fn what_is_stored_can_be_read_and_reduced() {
    let (registry, served) = with_stored(&[]).await;
    let found = registry.get(&served, "default", "a", Subresource::None, "").await.unwrap();
    assert!(found.len() > 2 * 1024 * 1024);
    let larger = json!({"metadata": {"labels": {"a": "b"}}});
    assert!(refused(patch(&registry, &served, larger.clone()).await).ends_with(" vs. 2097152)"));
    patch(&registry, &served, json!({"text": "x".repeat(2 * 1024 * 1024 - 2000)})).await.unwrap();
    let larger_still = json!({"metadata": {"annotations": {"a": "x".repeat(500)}}});
    assert_eq!(refused(patch(&registry, &served, larger_still).await), TOO_LARGE);
    patch(&registry, &served, json!({"text": "x"})).await.unwrap();
    patch(&registry, &served, larger).await.unwrap();
}

#[tokio::test]
async fn what_is_stored_can_be_deleted() {
    let (registry, served) = with_stored(&["example.com/a", "example.com/b"]).await;
    let options = DeleteOptions::default();
    let deleted = registry.delete(&mut context(), &served, "default", "a", &options).await.unwrap();
    assert!(matches!(deleted, Deleted::Object { .. }));
    patch(&registry, &served, json!({"metadata": {"finalizers": ["example.com/b"]}})).await.unwrap();
    patch(&registry, &served, json!({"metadata": {"finalizers": null}})).await.unwrap();
    let found = registry.get(&served, "default", "a", Subresource::None, "").await;
    assert_eq!(found.unwrap_err().reason, "NotFound");
}

#[tokio::test]
async fn what_is_being_deleted_does_not_grow() {
    let (registry, served) = with_stored(&["example.com/a"]).await;
    registry.delete(&mut context(), &served, "default", "a", &DeleteOptions::default()).await.unwrap();
    let larger = json!({"metadata": {"annotations": {"a": "x".repeat(100)}}});
    assert!(refused(patch(&registry, &served, larger).await).ends_with(" vs. 2097152)"));
}

/// Earlier versions of this server stored the fields of built-in kinds by name.
#[tokio::test]
async fn another_order_of_the_stored_fields_is_no_change() {
    let clock = Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap());
    let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
    let registry = Registry::open(store.clone(), clock, Random::seeded(1), Options::default()).await.unwrap();
    let served = |version| registry.served("autoscaling", version, "horizontalpodautoscalers").unwrap();
    let (v1, v2) = (served("v1"), served("v2"));
    let scaler = json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}});
    create(&registry, &v1, scaler).await.unwrap();
    let get = async |served| registry.get(served, "default", "a", Subresource::None, "").await.unwrap();
    let mut object: Value = serde_json::from_slice(&get(&v2).await).unwrap();
    registry.delete(&mut context(), &v2, "default", "a", &DeleteOptions::default()).await.unwrap();
    let key = Key::parse("/registry/autoscaling/horizontalpodautoscalers/default/a").unwrap();
    let by_name = move |revision: store::Revision| {
        object["metadata"]["resourceVersion"] = revision.0.to_string().into();
        bytes::Bytes::from(object.to_string())
    };
    store.commit(vec![Operation::create(key, by_name)]).await.unwrap();

    let before = get(&v1).await;
    let same = Input::new(serde_json::from_slice(&before).unwrap());
    registry.update(&mut context(), &v1, "default", "a", Subresource::None, same).await.unwrap();
    assert_eq!(get(&v1).await, before);
}
