//! Housekeeping: the deletion of dependents, contents of namespaces, definitions and Events.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machinery::status::Status;
use registry::{
    Admission, Context, DeleteOptions, EventType, Input, ListOptions, Operation, Options, PatchBody,
    Propagation, Registry, Review, Served, Subresource, WatchOptions,
};
use serde_json::{Value, json};

use crate::registry::common::open_with;

pub async fn open() -> Registry {
    open_with(Options::default()).await
}

/// Refuses the writes for which the function has a reason.
struct Refusing<F>(F);

impl<F: Fn(&Review<'_>) -> Option<String> + Send + Sync> Admission for Refusing<F> {
    fn mutate(&self, _: &Review<'_>, _: &mut Value, _: &mut Vec<String>) -> Result<(), Status> {
        Ok(())
    }

    fn validate(&self, review: &Review<'_>, _: &Value, _: &mut Vec<String>) -> Result<(), Status> {
        match (self.0)(review) {
            Some(reason) => Err(Status::forbidden(review.served.resource(), review.name, &reason)),
            None => Ok(()),
        }
    }
}

async fn open_refusing(reason: impl Fn(&Review<'_>) -> Option<String> + Send + Sync + 'static) -> Registry {
    open_with(Options { admission: vec![Arc::new(Refusing(reason))], ..Options::default() }).await
}

pub fn maps(registry: &Registry) -> Served {
    registry.served("", "v1", "configmaps").unwrap()
}

pub async fn create(registry: &Registry, served: &Served, namespace: &str, object: Value) -> Value {
    let mut context = Context { field_manager: "test".into(), ..Context::default() };
    let written = registry.create(&mut context, served, namespace, Input::new(object)).await.unwrap();
    serde_json::from_slice(&written.object).unwrap()
}

pub async fn map(registry: &Registry, namespace: &str, name: &str, owners: Value) -> Value {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "ownerReferences": owners}});
    create(registry, &maps(registry), namespace, object).await
}

pub fn owned_by(owner: &Value) -> Value {
    json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "blockOwnerDeletion": true}])
}

pub async fn delete(
    registry: &Registry,
    served: &Served,
    namespace: &str,
    name: &str,
    propagation: Propagation,
) {
    let options = DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() };
    registry.delete(&mut Context::default(), served, namespace, name, &options).await.unwrap();
}

/// Waits until the object is removed. The clock is paused, so the deadline takes no real time.
pub async fn gone(registry: &Registry, served: &Served, namespace: &str, name: &str) {
    let options = WatchOptions { field_selector: format!("metadata.name={name}"), ..WatchOptions::default() };
    let mut watch = registry.watch(&mut Context::default(), served, namespace, &options).await.unwrap();
    let waiting = async {
        while registry.get(served, namespace, name, Subresource::None, "").await.is_ok() {
            if watch.next().await.is_none_or(|event| event.kind == EventType::Error) {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(7200), waiting).await.expect("it goes");
}

#[tokio::test(start_paused = true)]
async fn dependents_follow_their_owner_unless_they_are_orphaned() {
    for propagation in [Propagation::Background, Propagation::Foreground, Propagation::Orphan] {
        let registry = open().await;
        let maps = maps(&registry);
        let owner = map(&registry, "default", "owner", Value::Null).await;
        let child = map(&registry, "default", "child", owned_by(&owner)).await;
        map(&registry, "default", "grandchild", owned_by(&child)).await;
        delete(&registry, &maps, "default", "owner", propagation).await;
        gone(&registry, &maps, "default", "owner").await;
        if propagation == Propagation::Orphan {
            let child = registry.get(&maps, "default", "child", Subresource::None, "").await.unwrap();
            let child: Value = serde_json::from_slice(&child).unwrap();
            assert_eq!(child["metadata"]["ownerReferences"], Value::Null);
            assert!(registry.get(&maps, "default", "grandchild", Subresource::None, "").await.is_ok());
        } else {
            gone(&registry, &maps, "default", "child").await;
            gone(&registry, &maps, "default", "grandchild").await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_owner_in_another_namespace_is_none() {
    let registry = open().await;
    let owner = map(&registry, "default", "owner", Value::Null).await;
    map(&registry, "kube-system", "child", owned_by(&owner)).await;
    gone(&registry, &maps(&registry), "kube-system", "child").await;
    assert!(registry.get(&maps(&registry), "default", "owner", Subresource::None, "").await.is_ok());
}

/// Returns the first object that satisfies `wanted`. The clock is paused, so the deadline takes no real time.
async fn seen(
    registry: &Registry,
    served: &Served,
    namespace: &str,
    wanted: impl Fn(&Value) -> bool,
) -> Value {
    let options = WatchOptions::default();
    let mut watch = registry.watch(&mut Context::default(), served, namespace, &options).await.unwrap();
    let waiting = async {
        loop {
            let event = watch.next().await.expect("the watch goes on");
            let object: Value = serde_json::from_slice(&event.object).unwrap();
            if event.kind != EventType::Deleted && wanted(&object) {
                return object;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("it comes")
}

/// Returns the Event about an owner reference in this namespace.
async fn misplaced(registry: &Registry, namespace: &str) -> Value {
    let events = registry.served("", "v1", "events").unwrap();
    seen(registry, &events, namespace, |event| event["reason"] == "OwnerRefInvalidNamespace").await
}

#[tokio::test(start_paused = true)]
async fn an_event_says_that_an_owner_is_in_another_namespace() {
    let registry = open().await;
    let owner = map(&registry, "default", "owner", Value::Null).await;
    let child = map(&registry, "kube-system", "child", owned_by(&owner)).await;
    let event = misplaced(&registry, "kube-system").await;
    let uid = |object: &Value| object["metadata"]["uid"].as_str().unwrap().to_owned();
    let wanted = format!(
        "ownerRef [v1/ConfigMap, namespace: kube-system, name: owner, uid: {}] does not exist in namespace \"kube-system\"",
        uid(&owner)
    );
    assert_eq!((&event["type"], &event["message"]), (&json!("Warning"), &json!(wanted)));
    let involved = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "child", "namespace": "kube-system",
        "uid": uid(&child)});
    assert_eq!(event["involvedObject"], involved);
    assert_eq!(event["source"]["component"], "garbage-collector-controller");
    // Of an object without a namespace, the Event is in `default`.
    let namespaces = registry.served("", "v1", "namespaces").unwrap();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "a", "ownerReferences": owned_by(&owner)}});
    create(&registry, &namespaces, "", namespace).await;
    let event = misplaced(&registry, "default").await;
    assert!(event["message"].as_str().unwrap().ends_with("does not exist in namespace \"\""), "{event}");
}

#[tokio::test(start_paused = true)]
async fn the_authority_of_clients_is_published() {
    let registry = open().await;
    registry.publish_client_authority("authority\n");
    let maps = maps(&registry);
    let name = "extension-apiserver-authentication";
    let published = async || {
        let map = seen(&registry, &maps, "kube-system", |map| map["metadata"]["name"] == name).await;
        map["data"]["client-ca-file"].clone()
    };
    assert_eq!(published().await, "authority\n");
    delete(&registry, &maps, "kube-system", name, Propagation::Background).await;
    assert_eq!(published().await, "authority\n");
}

/// Creates the namespace `a`. Returns the resource of namespaces.
async fn with_namespace(registry: &Registry) -> Served {
    let namespaces = registry.served("", "v1", "namespaces").unwrap();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}});
    create(registry, &namespaces, "", namespace).await;
    namespaces
}

/// Creates the ConfigMap `held` with a finalizer in the namespace `a`.
async fn create_held(registry: &Registry) {
    let held = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "held", "finalizers": ["test.io/hold"]}});
    create(registry, &maps(registry), "a", held).await;
}

#[tokio::test(start_paused = true)]
async fn a_deleted_namespace_is_emptied_first() {
    let registry = open().await;
    let namespaces = with_namespace(&registry).await;
    create_held(&registry).await;
    map(&registry, "a", "free", Value::Null).await;
    delete(&registry, &namespaces, "", "a", Propagation::Background).await;
    gone(&registry, &maps(&registry), "a", "free").await;
    assert!(registry.get(&namespaces, "", "a", Subresource::None, "").await.is_ok());

    let late = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}});
    let refused =
        registry.create(&mut Context::default(), &maps(&registry), "a", Input::new(late)).await.unwrap_err();
    assert_eq!((refused.code, refused.reason), (403, "Forbidden"));

    let release = PatchBody::Merge(r#"{"metadata":{"finalizers":null}}"#.into());
    let mut context = Context::default();
    registry.patch(&mut context, &maps(&registry), "a", "held", Subresource::None, release).await.unwrap();
    gone(&registry, &namespaces, "", "a").await;
}

/// Begins to delete a namespace in which a ConfigMap is used by another one outside. Returns the registry and the namespaces.
async fn with_used(reason: &str) -> (Registry, Served) {
    let reason = reason.to_owned();
    let registry = open_refusing(move |review| {
        let is_used = review.reader.get("", "ConfigMap", "default", "user").unwrap().is_some();
        let is_deletion = review.operation == Operation::Delete && review.name == "used";
        (is_deletion && is_used).then(|| reason.clone())
    })
    .await;
    let namespaces = with_namespace(&registry).await;
    map(&registry, "default", "user", Value::Null).await;
    map(&registry, "a", "used", Value::Null).await;
    map(&registry, "a", "free", Value::Null).await;
    delete(&registry, &namespaces, "", "a", Propagation::Background).await;
    gone(&registry, &maps(&registry), "a", "free").await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(registry.get(&maps(&registry), "a", "used", Subresource::None, "").await.is_ok());
    (registry, namespaces)
}

/// Returns the condition about the content of the namespace `a` that could not be deleted.
async fn content_failure(registry: &Registry, namespaces: &Served) -> Value {
    let read = registry.get(namespaces, "", "a", Subresource::None, "").await.unwrap();
    let stored: Value = serde_json::from_slice(&read).unwrap();
    let conditions = stored["status"]["conditions"].as_array().unwrap();
    conditions.iter().find(|found| found["type"] == "NamespaceDeletionContentFailure").unwrap().clone()
}

/// Nothing in the namespace changes when the user of an object in it is gone.
#[tokio::test(start_paused = true)]
async fn a_refused_deletion_is_tried_again() {
    let (registry, namespaces) = with_used("it is used").await;
    let failure = content_failure(&registry, &namespaces).await;
    assert_eq!((&failure["status"], &failure["reason"]), (&json!("True"), &json!("ContentDeletionFailed")));
    assert_eq!(
        failure["message"],
        "Failed to delete all resource types, 1 remaining: configmaps \"used\" is forbidden: it is used"
    );
    delete(&registry, &maps(&registry), "default", "user", Propagation::Background).await;
    let soon = tokio::time::timeout(Duration::from_secs(10), gone(&registry, &namespaces, "", "a"));
    soon.await.expect("the deletion is tried again within seconds");
}

#[tokio::test(start_paused = true)]
async fn the_reason_of_a_refused_deletion_is_cut() {
    let (registry, namespaces) = with_used(&"é".repeat(100_000)).await;
    let failure = content_failure(&registry, &namespaces).await;
    assert_eq!(failure["message"].as_str().unwrap().chars().count(), 32_768);
}

#[tokio::test(start_paused = true)]
async fn a_refused_orphaning_is_tried_again() {
    let was_refused = AtomicBool::new(false);
    let registry = open_refusing(move |review| {
        let is_first = || !was_refused.swap(true, Ordering::Relaxed);
        (review.operation == Operation::Update && review.name == "child" && is_first())
            .then(|| "not yet".to_owned())
    })
    .await;
    let maps = maps(&registry);
    let owner = map(&registry, "default", "owner", Value::Null).await;
    map(&registry, "default", "child", owned_by(&owner)).await;
    delete(&registry, &maps, "default", "owner", Propagation::Orphan).await;
    let soon = tokio::time::timeout(Duration::from_secs(10), gone(&registry, &maps, "default", "owner"));
    soon.await.expect("the child is orphaned within seconds");
    let child = registry.get(&maps, "default", "child", Subresource::None, "").await.unwrap();
    let child: Value = serde_json::from_slice(&child).unwrap();
    assert_eq!(child["metadata"]["ownerReferences"], Value::Null);
}

/// Nothing in the namespace changes when its status can be written again.
#[tokio::test(start_paused = true)]
async fn a_status_that_was_refused_is_written_again() {
    let is_sealed = Arc::new(AtomicBool::new(true));
    let sealed = is_sealed.clone();
    let registry = open_refusing(move |review| {
        let is_status = review.name == "a" && review.subresource == Subresource::Status;
        (is_status && sealed.load(Ordering::Relaxed)).then(|| "not yet".to_owned())
    })
    .await;
    let namespaces = with_namespace(&registry).await;
    create_held(&registry).await;
    delete(&registry, &namespaces, "", "a", Propagation::Background).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    is_sealed.store(false, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(content_failure(&registry, &namespaces).await["status"], "False");
}

#[tokio::test(start_paused = true)]
async fn events_go_after_an_hour() {
    let registry = open().await;
    let events = registry.served("", "v1", "events").unwrap();
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "reason": "R", "message": "m",
        "type": "Normal", "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}});
    create(&registry, &events, "default", event).await;
    tokio::time::sleep(Duration::from_secs(3590)).await;
    assert!(registry.get(&events, "default", "e", Subresource::None, "").await.is_ok());
    gone(&registry, &events, "default", "e").await;
}

/// Waits until `kubernetes` in `default` satisfies `wanted`. The clock is paused, so the deadline takes no real time.
async fn until(registry: &Registry, served: &Served, wanted: impl Fn(&Value) -> bool) -> Value {
    let mut watch =
        registry.watch(&mut Context::default(), served, "default", &WatchOptions::default()).await.unwrap();
    let waiting = async {
        loop {
            let found = registry.get(served, "default", "kubernetes", Subresource::None, "").await;
            let found = found.ok().map(|text| serde_json::from_slice::<Value>(&text).unwrap());
            if let Some(found) = found.filter(|found| wanted(found)) {
                return found;
            }
            watch.next().await.expect("the watch goes on");
        }
    };
    tokio::time::timeout(Duration::from_secs(7200), waiting).await.expect("it comes")
}

#[tokio::test(start_paused = true)]
async fn the_server_leads_to_itself() {
    let registry = open().await;
    registry.advertise("192.0.2.10:6443".parse().unwrap());
    let served = |group: &str, plural: &str| registry.served(group, "v1", plural).unwrap();
    let (services, endpoints) = (served("", "services"), served("", "endpoints"));
    let slices = served("discovery.k8s.io", "endpointslices");
    let service = until(&registry, &services, |_| true).await;
    assert_eq!(service["spec"]["clusterIPs"], json!(["10.0.0.1"]));
    assert_eq!(
        service["spec"]["ports"],
        json!([{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}])
    );
    let leads = |found: &Value| found["subsets"][0]["addresses"] == json!([{"ip": "192.0.2.10"}]);
    until(&registry, &endpoints, leads).await;
    let found = until(&registry, &slices, |_| true).await;
    assert_eq!(found["endpoints"][0]["addresses"], json!(["192.0.2.10"]));
    assert_eq!(found["metadata"]["labels"]["kubernetes.io/service-name"], "kubernetes");
    // Changed or deleted objects are restored.
    let elsewhere = json!({"subsets": [{"addresses": [{"ip": "192.0.2.66"}], "ports": [{"port": 1}]}]});
    let patch = PatchBody::Merge(elsewhere.to_string().into());
    let mut context = Context::default();
    registry
        .patch(&mut context, &endpoints, "default", "kubernetes", Subresource::None, patch)
        .await
        .unwrap();
    until(&registry, &endpoints, leads).await;
    for served in [&services, &endpoints, &slices] {
        let before = until(&registry, served, |_| true).await["metadata"]["uid"].clone();
        delete(&registry, served, "default", "kubernetes", Propagation::Background).await;
        until(&registry, served, |found| found["metadata"]["uid"] != before).await;
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_is_led_to_an_address_of_loopback() {
    let registry = open().await;
    registry.advertise("127.0.0.1:6443".parse().unwrap());
    let services = registry.served("", "v1", "services").unwrap();
    until(&registry, &services, |_| true).await;
    let stale = json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "kubernetes"},
        "subsets": [{"addresses": [{"ip": "192.0.2.10"}], "ports": [{"port": 6443}]}]});
    let endpoints = registry.served("", "v1", "endpoints").unwrap();
    create(&registry, &endpoints, "default", stale).await;
    gone(&registry, &endpoints, "default", "kubernetes").await;
    let slices = registry.served("discovery.k8s.io", "v1", "endpointslices").unwrap();
    assert!(registry.get(&slices, "default", "kubernetes", Subresource::None, "").await.is_err());
}

/// Waits until all default objects of a kind are there.
async fn defaults(registry: &Registry, plural: &str, count: usize) -> Vec<Value> {
    let served = registry.served("rbac.authorization.k8s.io", "v1", plural).unwrap();
    let mut watch =
        registry.watch(&mut Context::default(), &served, "", &WatchOptions::default()).await.unwrap();
    let selector = "kubernetes.io/bootstrapping=rbac-defaults".to_owned();
    let options = ListOptions { label_selector: selector, ..ListOptions::default() };
    let waiting = async {
        loop {
            let list = registry.list(&mut Context::default(), &served, "", &options).await.unwrap();
            if list.items.len() >= count {
                return list.items.iter().map(|item| serde_json::from_slice(&item.object).unwrap()).collect();
            }
            watch.next().await.expect("the watch goes on");
        }
    };
    tokio::time::timeout(Duration::from_secs(7200), waiting).await.expect("they come")
}

#[tokio::test(start_paused = true)]
async fn every_default_role_is_there_with_its_rules() {
    let source = concat!(include_str!("../policy/roles.txt"), include_str!("../policy/controllers.txt"));
    let registry = open().await;
    let (mut found, mut rules) = (0, 0);
    for plural in ["clusterroles", "roles", "clusterrolebindings", "rolebindings"] {
        let head = format!("{} ", plural.trim_end_matches('s'));
        let wanted = source.lines().filter(|line| line.starts_with(&head)).count();
        let all = defaults(&registry, plural, wanted).await;
        assert_eq!(all.len(), wanted, "{plural}");
        found += all.len();
        let own = all.iter().filter(|one| one.get("aggregationRule").is_none());
        rules += own.map(|one| one["rules"].as_array().map_or(0, Vec::len)).sum::<usize>();
        if plural == "clusterroles" {
            let named = |name: &str| all.iter().find(|one| one["metadata"]["name"] == name).unwrap();
            assert_eq!(
                named("system:basic-user")["rules"][0],
                json!({
                    "verbs": ["create"], "apiGroups": ["authorization.k8s.io"],
                    "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
                })
            );
            assert_eq!(
                named("system:controller:job-controller")["rules"][0],
                json!({
                    "verbs": ["get", "list", "patch", "update", "watch"], "apiGroups": ["batch"], "resources": ["jobs"],
                })
            );
            let count = |name: &str| named(name)["rules"].as_array().unwrap().len();
            let (view, edit, admin) = (count("view"), count("edit"), count("admin"));
            assert_eq!(view, count("system:aggregate-to-view"));
            assert_eq!(edit, view + count("system:aggregate-to-edit"));
            assert_eq!(admin, edit + count("system:aggregate-to-admin"));
        }
    }
    assert_eq!(
        found,
        source.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase())).count()
    );
    assert_eq!(rules, source.lines().filter(|line| line.starts_with("  ")).count());
}
