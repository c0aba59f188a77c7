//! Selection of objects: by what is kept beside them, in the version that clients see, and by the fields of the present definition.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use futures::future::BoxFuture;
use machinery::status::Status;
use registry::limits::ASIDE_FROM_BYTES;
use registry::{Aside, Context, EventType, Input, ListOptions, Registry, Served, Turns, WatchOptions};
use serde_json::{Map, Value, json};

use crate::registry::common::{self, context, converted, definition, serve, version};

/// Counts the work that takes turns.
#[derive(Default)]
struct Counting(AtomicUsize);

impl Turns for Counting {
    fn perform<'a>(&'a self, work: BoxFuture<'a, ()>) -> BoxFuture<'a, Result<(), Status>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        async move {
            registry::aside::blocking(work);
            Ok(())
        }
        .boxed()
    }
}

impl Counting {
    fn context(self: &Arc<Self>) -> Context {
        Context { aside: Aside::in_turn(self.clone()), ..context() }
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

async fn create(registry: &Registry, served: &Served, object: Value) {
    registry.create(&mut context(), served, "default", Input::new(object)).await.unwrap();
}

/// Returns the names of the objects that a list selects.
async fn names(
    registry: &Registry,
    context: &mut Context,
    served: &Served,
    (labels, fields): (&str, &str),
) -> Vec<String> {
    let options = ListOptions {
        label_selector: labels.into(),
        field_selector: fields.into(),
        ..ListOptions::default()
    };
    let list = registry.list(context, served, "default", &options).await.unwrap();
    list.items.into_iter().map(|item| item.name).collect()
}

fn secret(name: &str, keys: usize) -> Value {
    let data: Map<String, Value> = (0..keys).map(|at| (format!("k{at:05}"), json!(""))).collect();
    json!({"apiVersion": "v1", "kind": "Secret", "type": "a/b", "data": data,
        "metadata": {"name": name, "labels": {"b": "2", "a": "1", "c": name}}})
}

/// How often a future that is never kept waiting lets other tasks run.
async fn yields<T>(work: impl Future<Output = T>) -> usize {
    let (mut work, mut count) = (Box::pin(work), 0);
    poll_fn(|context| {
        let polled = work.poll_unpin(context);
        count += usize::from(polled.is_pending());
        polled
    })
    .await;
    count
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_kept_beside_large_objects_is_enough_to_select_them() {
    let (registry, _) = common::registry().await;
    let secrets = registry.served("", "v1", "secrets").unwrap();
    for name in ["x", "y"] {
        create(&registry, &secrets, secret(name, 20_000)).await;
    }
    let turns = Arc::new(Counting::default());
    let context = &mut turns.context();
    let selectors =
        [("a=1,c=y", ""), ("c in (y,z)", "type=a/b"), ("", "metadata.name=y"), ("a,!d,b>1,c!=x", "")];
    for selectors in selectors {
        assert_eq!(names(&registry, context, &secrets, selectors).await, ["y"], "{selectors:?}");
    }
    for selectors in [("c=z", ""), ("", "type=other"), ("!a", ""), ("a=1", "metadata.namespace=other")] {
        assert!(names(&registry, context, &secrets, selectors).await.is_empty(), "{selectors:?}");
    }
    assert_eq!(turns.count(), 0, "no text was looked through");
    // The same holds for the events of a watch, of which the first has the object before and after the change.
    let options = WatchOptions {
        field_selector: "type=a/b".into(),
        label_selector: "c=y".into(),
        ..WatchOptions::default()
    };
    let mut watch = registry.watch(context, &secrets, "default", &options).await.unwrap();
    assert_eq!(watch.next().await.unwrap().kind, EventType::Added);
    let patch = registry::PatchBody::Merge(json!({"metadata": {"labels": {"c": "no"}}}).to_string().into());
    let none = registry::Subresource::None;
    registry.patch(&mut common::context(), &secrets, "default", "y", none, patch).await.unwrap();
    assert_eq!(watch.next().await.unwrap().kind, EventType::Deleted);
    assert_eq!(turns.count(), 0);
}

/// Creates an object of a built-in kind, as its kind's own namespace or in `default`, and returns its kind.
async fn make(registry: &Registry, (group, version, plural): (&str, &str, &str), object: Value) -> Served {
    let served = registry.served(group, version, plural).unwrap();
    let namespace = if served.definition.namespaced { "default" } else { "" };
    registry.create(&mut context(), &served, namespace, Input::new(object)).await.unwrap();
    served
}

async fn selected(registry: &Registry, served: &Served, fields: &str) -> Result<usize, String> {
    let options = ListOptions { field_selector: fields.into(), ..ListOptions::default() };
    let list = registry.list(&mut context(), served, "", &options).await;
    list.map(|list| list.items.len()).map_err(|status| status.message)
}

/// An unset field has the text that Go prints for it.
#[tokio::test]
async fn unset_fields_are_selected_by_the_zero_value_of_their_type() {
    let (registry, _) = common::registry().await;
    let template = json!({"metadata": {"labels": {"a": "b"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}});
    let metadata = json!({"name": "one"});
    let pod = json!({"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "x"}]}});
    let pods = make(&registry, ("", "v1", "pods"), pod).await;
    let jobs = json!({"metadata": metadata, "spec": {"template": template}});
    let jobs = make(&registry, ("batch", "v1", "jobs"), jobs).await;
    let spec = json!({"replicas": 0, "selector": {"a": "b"}, "template": {"metadata": template["metadata"],
        "spec": {"containers": [{"name": "c", "image": "x"}]}}});
    let controllers = json!({"metadata": metadata, "spec": spec});
    let controllers = make(&registry, ("", "v1", "replicationcontrollers"), controllers).await;
    let nodes = make(&registry, ("", "v1", "nodes"), json!({"metadata": metadata})).await;
    for (served, fields, count) in [
        (&pods, "spec.hostNetwork=false", 1),
        (&pods, "spec.hostNetwork=true", 0),
        (&pods, "spec.nodeName=,status.podIP=,status.podIPs=,status.nominatedNodeName=,spec.host=", 1),
        (&pods, "status.podIPs!=", 0),
        (&pods, "status.phase=Pending,spec.restartPolicy=Always", 1),
        (&jobs, "status.successful=0", 1),
        (&jobs, "status.successful!=0", 0),
        (&controllers, "status.replicas=0", 1),
        (&nodes, "spec.unschedulable=false", 1),
        (&nodes, "spec.unschedulable=", 0),
        (&nodes, "metadata.name=one,spec.unschedulable!=true", 1),
    ] {
        assert_eq!(selected(&registry, served, fields).await, Ok(count), "{fields}");
    }
}

#[tokio::test]
async fn fields_that_a_kind_does_not_know_are_refused() {
    let (registry, _) = common::registry().await;
    let own = |field: &str| format!("field label not supported: {field}");
    let known = |field: &str| {
        format!("\"{field}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
    };
    let job = "field label \"spec.suspend\" not supported for Job".to_owned();
    for (group, version, plural, field, why) in [
        ("", "v1", "pods", "spec.nope", Some(own("spec.nope"))),
        ("", "v1", "nodes", "metadata.namespace", Some(own("metadata.namespace"))),
        ("", "v1", "namespaces", "metadata.namespace", Some(own("metadata.namespace"))),
        ("", "v1", "persistentvolumes", "metadata.namespace", None),
        ("", "v1", "configmaps", "data.a", Some(known("data.a"))),
        ("apps", "v1", "replicasets", "status.replicas", Some(known("status.replicas"))),
        ("apps", "v1", "deployments", "status.replicas", Some(known("status.replicas"))),
        (
            "networking.k8s.io",
            "v1",
            "ipaddresses",
            "spec.parentRef.resource",
            Some(known("spec.parentRef.resource")),
        ),
        ("batch", "v1", "jobs", "spec.suspend", Some(job)),
        ("events.k8s.io", "v1", "events", "source", Some(own("source"))),
        ("", "v1", "events", "source", None),
    ] {
        let served = registry.served(group, version, plural).unwrap();
        let found = selected(&registry, &served, &format!("{field}=")).await;
        assert_eq!(found.err(), why, "{plural} {field}");
    }
    let mut definition = boxes(".spec.size");
    definition["spec"]["scope"] = "Cluster".into();
    let served = serve(&registry, &definition).await;
    let found = selected(&registry, &served, "metadata.namespace=").await;
    assert_eq!(found, Err(own("metadata.namespace")));
}

/// A custom kind with a field that is selectable, and a large one that is not.
fn boxes(selectable: &str) -> Value {
    let string = json!({"type": "string"});
    let spec = json!({"type": "object", "properties": {"size": string, "colour": string, "large": string}});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    let mut version = version("v1", true, schema);
    version["selectableFields"] = json!([{"jsonPath": selectable}]);
    definition("boxs", json!([version]))
}

fn boxed(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "test.example.com/v1", "kind": "Box", "metadata": {"name": name}, "spec": spec})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn selectable_fields_follow_their_definition_and_are_derived_once() {
    let (registry, _) = common::registry().await;
    let served = serve(&registry, &boxes(".spec.size")).await;
    let large = "x".repeat(ASIDE_FROM_BYTES);
    create(&registry, &served, boxed("a", json!({"size": "1", "colour": "red", "large": large}))).await;
    create(&registry, &served, boxed("b", json!({"size": "2"}))).await;
    let turns = Arc::new(Counting::default());
    let context = &mut turns.context();
    assert_eq!(names(&registry, context, &served, ("", "spec.size=1")).await, ["a"]);
    assert_eq!(turns.count(), 0, "known since the object was written");

    let served = serve(&registry, &boxes(".spec.colour")).await;
    assert_eq!(names(&registry, context, &served, ("", "spec.colour=red")).await, ["a"]);
    assert_eq!(turns.count(), 1, "the definition is another, so the objects are looked through in turn");
    assert_eq!(names(&registry, context, &served, ("", "spec.colour=red")).await, ["a"]);
    assert_eq!(names(&registry, context, &served, ("", "spec.colour=")).await, ["b"]);
    assert_eq!(turns.count(), 1, "once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn labels_that_a_webhook_changes_are_selected_as_clients_see_them() {
    let (registry, webhook) = common::registry().await;
    webhook.answers(|review| {
        Ok(converted(review, |object| object["metadata"]["labels"] = json!({"seen": "v2", "z": "1"})))
    });
    let schema = || json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let versions = json!([version("v1", true, schema()), version("v2", false, schema())]);
    let mut definition = definition("boxs", versions);
    definition["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
        "clientConfig": {"url": "https://127.0.0.1:9443/convert"}, "conversionReviewVersions": ["v1"]}});
    let v1 = serve(&registry, &definition).await;
    let v2 = common::served(&registry, &definition, "v2");
    create(&registry, &v1, boxed("a", json!({}))).await;
    let context = &mut context();
    assert!(names(&registry, context, &v1, ("seen=v2", "")).await.is_empty());
    assert_eq!(names(&registry, context, &v2, ("seen=v2,z=1", "metadata.name=a")).await, ["a"]);
}

/// Objects that were in the store at the start have nothing beside them until the housekeeping has seen them.
#[tokio::test]
async fn a_list_lets_others_run_by_its_work_and_not_by_the_number_of_its_objects() {
    let (registry, _) = common::registry().await;
    let secrets = registry.served("", "v1", "secrets").unwrap();
    for at in 0..40 {
        create(&registry, &secrets, secret(&format!("s{at}"), 10)).await;
    }
    let few = yields(names(&registry, &mut context(), &secrets, ("a=1", ""))).await;
    assert_eq!(few, 0, "what is small is done at once");
    let many: Vec<String> = (0..900).map(|at| format!("k{at}!=v")).collect();
    let terms = yields(names(&registry, &mut context(), &secrets, (&many.join(","), ""))).await;
    assert!(terms >= 2, "requirements count: {terms}");
}
