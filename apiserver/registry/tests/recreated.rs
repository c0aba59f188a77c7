//! Namespaces and definitions that are deleted and created again while their old content is still being removed.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use machinery::status::Status;
use registry::{
    Admission, Context, DeleteOptions, Input, ListOptions, Operation, Options, PatchBody, Propagation,
    Registry, Review, Served, Subresource, User,
};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::registry::common::{GROUP, definition, open_with, serve};
use crate::registry::housekeeping::{create, delete, gone, maps};

type Selects = fn(&Review<'_>) -> bool;

/// Stops the first write that the function selects, until it may go on.
struct Stop(Selects, Mutex<Option<(oneshot::Sender<()>, mpsc::Receiver<()>)>>);

impl Admission for Stop {
    fn mutate(&self, _: &Review<'_>, _: &mut Value, _: &mut Vec<String>) -> Result<(), Status> {
        Ok(())
    }

    fn validate(&self, review: &Review<'_>, _: &Value, _: &mut Vec<String>) -> Result<(), Status> {
        if (self.0)(review)
            && let Some((stopped, go_on)) = self.1.lock().unwrap().take()
        {
            stopped.send(()).unwrap();
            go_on.recv().unwrap();
        }
        Ok(())
    }
}

/// Opens a registry with a rule that stops a write. Also returns when that has happened, and what lets it go on.
async fn open(selects: Selects) -> (Registry, oneshot::Receiver<()>, mpsc::Sender<()>) {
    let (stopped, is_stopped) = oneshot::channel();
    let (go_on, goes_on) = mpsc::channel();
    let stop = Stop(selects, Mutex::new(Some((stopped, goes_on))));
    let registry = open_with(Options { admission: vec![Arc::new(stop)], ..Options::default() }).await;
    (registry, is_stopped, go_on)
}

fn crds(registry: &Registry) -> Served {
    registry.served("apiextensions.k8s.io", "v1", "customresourcedefinitions").unwrap()
}

fn gadgets() -> Value {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    definition(
        "gadgets",
        json!([{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": any}}]),
    )
}

fn gadget(name: &str) -> Value {
    json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Gadget", "metadata": {"name": name}})
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

async fn create_namespace(registry: &Registry) -> Served {
    let namespaces = registry.served("", "v1", "namespaces").unwrap();
    create(
        registry,
        &namespaces,
        "",
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}),
    )
    .await;
    namespaces
}

/// Whether the housekeeping deletes the object `x`.
fn is_cleaning(review: &Review<'_>) -> bool {
    review.operation == Operation::Delete && review.name == "x" && review.user.name == "system:apiserver"
}

fn is_late(review: &Review<'_>) -> bool {
    review.operation == Operation::Create && review.name == "late"
}

async fn patch(registry: &Registry, served: &Served, name: &str, part: Subresource, patch: Value) {
    let patch = PatchBody::Merge(patch.to_string().into());
    registry.patch(&mut Context::default(), served, "", name, part, patch).await.unwrap();
}

async fn uid(registry: &Registry, served: &Served, namespace: &str, name: &str) -> Value {
    let text = registry.get(served, namespace, name, Subresource::None, "").await.expect("it is there");
    serde_json::from_slice::<Value>(&text).unwrap()["metadata"]["uid"].clone()
}

/// Lets the stopped write go on, and waits until the housekeeping has nothing to do: it has deleted the owned object that is created last.
async fn settle(registry: &Registry, go_on: &mpsc::Sender<()>) {
    go_on.send(()).unwrap();
    for round in 0..5 {
        let missing = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "missing", "uid": "missing"}]);
        let name = format!("last{round}");
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": missing}});
        create(registry, &maps(registry), "default", object).await;
        gone(registry, &maps(registry), "default", &name).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn objects_of_a_definition_that_was_created_again_stay() {
    let (registry, is_stopped, go_on) = open(is_cleaning).await;
    let name = format!("gadgets.{GROUP}");
    let served = serve(&registry, &gadgets()).await;
    for object in ["x", "y"] {
        create(&registry, &served, "default", gadget(object)).await;
    }
    delete(&registry, &crds(&registry), "", &name, Propagation::Background).await;
    is_stopped.await.unwrap();
    // Somebody is impatient.
    for object in ["x", "y"] {
        delete(&registry, &served, "default", object, Propagation::Background).await;
    }
    patch(&registry, &crds(&registry), &name, Subresource::None, json!({"metadata": {"finalizers": null}}))
        .await;
    let served = serve(&registry, &gadgets()).await;
    let mut created = Vec::new();
    for object in ["x", "y"] {
        created.push(create(&registry, &served, "default", gadget(object)).await["metadata"]["uid"].clone());
    }
    settle(&registry, &go_on).await;
    for (object, before) in ["x", "y"].into_iter().zip(created) {
        assert_eq!(uid(&registry, &served, "default", object).await, before);
    }
    let text = registry.get(&crds(&registry), "", &name, Subresource::None, "").await.unwrap();
    let again: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(again["metadata"]["deletionTimestamp"], Value::Null);
    assert!(registry.served(GROUP, "v1", "gadgets").is_some(), "it is served");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn objects_of_a_namespace_that_was_created_again_stay() {
    let (registry, is_stopped, go_on) = open(is_cleaning).await;
    let namespaces = create_namespace(&registry).await;
    create(&registry, &maps(&registry), "a", config_map("x")).await;
    delete(&registry, &namespaces, "", "a", Propagation::Background).await;
    is_stopped.await.unwrap();
    delete(&registry, &maps(&registry), "a", "x", Propagation::Background).await;
    patch(&registry, &namespaces, "a", Subresource::Finalize, json!({"spec": {"finalizers": []}})).await;
    create_namespace(&registry).await;
    let before = create(&registry, &maps(&registry), "a", config_map("x")).await["metadata"]["uid"].clone();
    settle(&registry, &go_on).await;
    assert_eq!(uid(&registry, &maps(&registry), "a", "x").await, before);
    let text = registry.get(&namespaces, "", "a", Subresource::None, "").await.unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&text).unwrap()["status"]["phase"], "Active");
}

/// Its admission takes long. When it is done, the object would belong to nothing, or to another definition or namespace.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_object_that_comes_after_the_deletion_of_its_home_is_refused() {
    for is_custom in [true, false] {
        let (registry, is_stopped, go_on) = open(is_late).await;
        let (home, name, served, namespace, late) = if is_custom {
            let served = serve(&registry, &gadgets()).await;
            (crds(&registry), format!("gadgets.{GROUP}"), served, "default", gadget("late"))
        } else {
            let namespaces = create_namespace(&registry).await;
            (namespaces, "a".to_owned(), maps(&registry), "a", config_map("late"))
        };
        let creating = {
            let (registry, served) = (registry.clone(), served.clone());
            tokio::spawn(async move {
                registry.create(&mut Context::default(), &served, namespace, Input::new(late)).await
            })
        };
        is_stopped.await.unwrap();
        delete(&registry, &home, "", &name, Propagation::Background).await;
        gone(&registry, &home, "", &name).await;
        if is_custom {
            serve(&registry, &gadgets()).await;
        }
        go_on.send(()).unwrap();
        let refused = creating.await.unwrap().expect_err("it has no home");
        assert_eq!(refused.code, 404, "{}", refused.message);
    }
}

/// Clients that create a definition again as soon as it is gone find it served, and keep what they store.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_definition_is_served_each_time_that_it_is_created_again() {
    let (registry, ..) = open(|_| false).await;
    let name = format!("gadgets.{GROUP}");
    let options = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
    for round in 0..60 {
        let served = serve(&registry, &gadgets()).await;
        for object in ["x", "y", "z"] {
            create(&registry, &served, "default", gadget(object)).await;
        }
        let deleted = registry.delete(&mut Context::default(), &crds(&registry), "", &name, &options).await;
        deleted.unwrap_or_else(|status| panic!("round {round}: {}", status.message));
        let waiting = async {
            while registry.get(&crds(&registry), "", &name, Subresource::None, "").await.is_ok() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("it goes");
    }
}

/// Refuses the first write of the status of a definition.
struct RefusesOnce(AtomicBool);

impl Admission for RefusesOnce {
    fn mutate(&self, _: &Review<'_>, _: &mut Value, _: &mut Vec<String>) -> Result<(), Status> {
        Ok(())
    }

    fn validate(&self, review: &Review<'_>, _: &Value, _: &mut Vec<String>) -> Result<(), Status> {
        let is_status = review.subresource == Subresource::Status && review.name.ends_with(GROUP);
        if is_status && !self.0.swap(true, Ordering::Relaxed) {
            return Err(Status::forbidden(review.served.resource(), review.name, "not yet"));
        }
        Ok(())
    }
}

/// The same happens if the client of the write goes before the definition has taken effect.
#[tokio::test(start_paused = true)]
async fn a_definition_that_did_not_take_effect_at_once_does_so_later() {
    let admission = Arc::new(RefusesOnce(AtomicBool::new(false)));
    let registry = open_with(Options { admission: vec![admission], ..Options::default() }).await;
    create(&registry, &crds(&registry), "", gadgets()).await;
    assert!(registry.served(GROUP, "v1", "gadgets").is_none());
    tokio::time::sleep(Duration::from_secs(10)).await;
    let served = registry.served(GROUP, "v1", "gadgets").expect("it is served");
    create(&registry, &served, "default", gadget("x")).await;
}

/// A collection is selected first. What gets the name of a selected object was not selected.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_collection_is_deleted_as_it_was_selected() {
    let (registry, is_stopped, go_on) = open(|review| {
        review.operation == Operation::Delete && review.name == "x" && review.user.name == "collector"
    })
    .await;
    let object = |labels: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "labels": labels}});
    create(&registry, &maps(&registry), "default", object(json!({"old": "yes"}))).await;
    let deleting = {
        let registry = registry.clone();
        tokio::spawn(async move {
            let user = User { name: "collector".into(), ..User::default() };
            let mut context = Context { user, ..Context::default() };
            let list = ListOptions { label_selector: "old=yes".into(), ..ListOptions::default() };
            let (maps, options) = (maps(&registry), DeleteOptions::default());
            registry.delete_collection(&mut context, &maps, "default", &options, &list).await.map(drop)
        })
    };
    is_stopped.await.unwrap();
    delete(&registry, &maps(&registry), "default", "x", Propagation::Background).await;
    let before = create(&registry, &maps(&registry), "default", object(json!({}))).await;
    go_on.send(()).unwrap();
    deleting.await.unwrap().unwrap();
    assert_eq!(uid(&registry, &maps(&registry), "default", "x").await, before["metadata"]["uid"]);
}

/// The Binding of a scheduler names the Pod for which it chose the Node.
#[tokio::test(start_paused = true)]
async fn a_pod_that_was_created_again_is_not_bound_as_the_one_before() {
    let (registry, ..) = open(|_| false).await;
    let pods = registry.served("", "v1", "pods").unwrap();
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let before = create(&registry, &pods, "default", pod.clone()).await["metadata"]["uid"].clone();
    let options = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
    registry.delete(&mut Context::default(), &pods, "default", "p", &options).await.unwrap();
    let now = create(&registry, &pods, "default", pod).await["metadata"]["uid"].clone();
    for (uid, code) in [(before, Some(409)), (now, None)] {
        let binding = json!({"metadata": {"name": "p", "uid": uid}, "target": {"name": "n"}});
        let bound = registry.bind(&Context::default(), &pods, "default", "p", "n", &binding).await;
        assert_eq!(bound.err().map(|status| status.code), code);
    }
}
