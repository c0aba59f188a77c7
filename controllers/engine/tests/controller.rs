//! Tests of the controller loop, over a client whose server answers with a fixed list.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use engine::{Action, Applied, Controller, Error, Manager, Reconciler, Request, Result, Settings};
use http::Response;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::client::Body;
use serde_json::json;

use crate::engine::support::manager_of;

/// Returns a manager whose server lists one ConfigMap, and one that cannot be decoded; its watches stay open and silent.
fn manager(settings: Settings) -> Manager {
    let service = tower::service_fn(|request: http::Request<Body>| async move {
        if request.uri().query().is_some_and(|query| query.contains("watch=true")) {
            std::future::pending::<()>().await;
        }
        let object = json!({"metadata": {"name": "one", "namespace": "default", "uid": "1", "resourceVersion": "5",
            "labels": {"cluster.x-k8s.io/watch-filter": "blue"}}});
        let broken = json!({"metadata": {"name": "broken", "namespace": "default", "uid": "2", "resourceVersion": "6"}, "data": 7});
        let list = json!({"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {"resourceVersion": "9"}, "items": [broken, object]});
        Ok::<_, Infallible>(Response::new(Body::from(list.to_string().into_bytes())))
    });
    manager_of(service, settings)
}

struct Stumbles(Arc<AtomicUsize>);

impl Reconciler for Stumbles {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        assert_eq!(request.to_string(), "default/one");
        match self.0.fetch_add(1, Ordering::Relaxed) {
            0 => panic!("stumbled"),
            1 => Err(Error::failed("fell")),
            2 => Ok(Action::requeue_after(Duration::from_secs(60))),
            _ => Ok(Action::done()),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn panics_and_errors_are_retried_and_requeues_kept() {
    let manager = manager(Settings::default());
    let objects = manager.objects::<ConfigMap>();
    let calls = Arc::new(AtomicUsize::new(0));
    Controller::new(&manager, "stumbles").reconciles(&objects).start(Stumbles(calls.clone()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(calls.load(Ordering::Relaxed), 3, "the panic and the error were retried");
    assert!(manager.is_idle(Duration::from_secs(30)), "nothing to do but the requeue");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(calls.load(Ordering::Relaxed), 4);
    let count = |result| manager.metrics().count("stumbles", result);
    assert_eq!((count("error"), count("requeue_after"), count("success")), (2, 1, 1));
    assert_eq!(manager.metrics().panics("stumbles"), 1);
    let text = manager.all_metrics().text();
    for expected in [
        "controller_runtime_reconcile_total{controller=\"stumbles\",result=\"requeue_after\"} 1\n",
        "controller_runtime_reconcile_errors_total{controller=\"stumbles\"} 2\n",
        "controller_runtime_reconcile_panics_total{controller=\"stumbles\"} 1\n",
        "controller_runtime_reconcile_time_seconds_count{controller=\"stumbles\"} 4\n",
        "controller_runtime_active_workers{controller=\"stumbles\"} 0\n",
        "controller_runtime_max_concurrent_reconciles{controller=\"stumbles\"} 10\n",
        "workqueue_adds_total{name=\"stumbles\",controller=\"stumbles\"} 4\n",
        "workqueue_retries_total{name=\"stumbles\",controller=\"stumbles\"} 3\n",
        "workqueue_depth{name=\"stumbles\",controller=\"stumbles\"} 0.0\n",
        "workqueue_queue_duration_seconds_count{name=\"stumbles\",controller=\"stumbles\"} 4\n",
        "workqueue_work_duration_seconds_count{name=\"stumbles\",controller=\"stumbles\"} 4\n",
    ] {
        assert!(text.contains(expected), "{expected}{text}");
    }
    manager.stop().await;
}

struct Waits(Arc<AtomicUsize>);

impl Reconciler for Waits {
    async fn reconcile(&self, _: Request) -> Result<Action> {
        if self.0.fetch_add(1, Ordering::Relaxed) == 0 {
            std::future::pending::<()>().await;
        }
        Ok(Action::done())
    }
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_ever_is_ended_and_tried_again() {
    let manager = manager(Settings::default());
    let objects = manager.objects::<ConfigMap>();
    let calls = Arc::new(AtomicUsize::new(0));
    let limit = Duration::from_secs(60);
    Controller::new(&manager, "waits").reconciles(&objects).time_limit(limit).start(Waits(calls.clone()));
    tokio::time::sleep(Duration::from_secs(59)).await;
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    manager.stop().await;
}

struct Counts(Arc<AtomicUsize>);

impl Reconciler for Counts {
    async fn reconcile(&self, _: Request) -> Result<Action> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Action::done())
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_without_events_is_reconciled_again_in_each_interval() {
    let manager = manager(Settings::default());
    let objects = manager.objects::<ConfigMap>();
    let calls = Arc::new(AtomicUsize::new(0));
    Controller::new(&manager, "counts").reconciles(&objects).start(Counts(calls.clone()));
    tokio::time::sleep(Duration::from_secs(8 * 60)).await;
    assert_eq!(calls.load(Ordering::Relaxed), 1, "only the first list");
    tokio::time::sleep(Duration::from_secs(100 * 60)).await;
    let count = calls.load(Ordering::Relaxed);
    assert!((9..=12).contains(&count), "{count} reconciles in 108 minutes");
    manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_filter_leaves_other_objects_to_other_processes() {
    for (filter, expected) in [(None, 1), (Some("blue"), 1), (Some("green"), 0)] {
        let manager = manager(Settings { watch_filter: filter.map(str::to_owned), ..Settings::default() });
        let objects = manager.objects::<ConfigMap>();
        let calls = Arc::new(AtomicUsize::new(0));
        Controller::new(&manager, "counts").reconciles(&objects).start(Counts(calls.clone()));
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(calls.load(Ordering::Relaxed), expected, "{filter:?}");
        assert!(manager.is_idle(Duration::from_secs(30)), "{filter:?}");
        manager.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_decoded_holds_up_no_other() {
    let manager = manager(Settings::default());
    let objects = manager.objects::<ConfigMap>();
    objects.wait_until_synced().await;
    let names: Vec<String> = objects.all().iter().filter_map(|object| object.metadata.name.clone()).collect();
    assert_eq!(names, ["one"]);
    manager.stop().await;
}

/// Returns a manager whose server lists nothing and answers each patch with the object that [`config_map`] returns, and the number of
/// patches.
fn patched() -> (Manager, Arc<AtomicUsize>) {
    let patches = Arc::new(AtomicUsize::new(0));
    let counted = patches.clone();
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let counted = counted.clone();
        async move {
            if request.uri().query().is_some_and(|query| query.contains("watch=true")) {
                std::future::pending::<()>().await;
            }
            let answer = match request.method() {
                &http::Method::PATCH => {
                    let version = 10 + counted.fetch_add(1, Ordering::Relaxed) as u64;
                    serde_json::to_value(config_map("1", version)).unwrap()
                }
                _ => {
                    json!({"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {"resourceVersion": "9"}, "items": []})
                }
            };
            Ok::<_, Infallible>(Response::new(Body::from(answer.to_string().into_bytes())))
        }
    });
    (manager_of(service, Settings::default()), patches)
}

fn config_map(value: &str, version: u64) -> ConfigMap {
    let object = json!({"metadata": {"name": "one", "namespace": "default", "uid": "1", "resourceVersion": version.to_string()},
        "data": {"key": value}});
    serde_json::from_value(object).unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_was_applied_is_applied_again_only_if_it_is_not_there() {
    let (manager, patches) = patched();
    let (objects, applied) = (manager.objects::<ConfigMap>(), Applied::default());
    let wanted = |value: &str| {
        let mut wanted = config_map(value, 0);
        wanted.metadata.resource_version = None;
        wanted
    };
    let apply = async |current: Option<&Arc<ConfigMap>>, value: &str| {
        let stored = applied.apply(&objects, "manager", current, &wanted(value)).await.unwrap();
        (stored, patches.load(Ordering::Relaxed))
    };
    let (stored, count) = apply(None, "1").await;
    assert_eq!(count, 1);
    for _ in 0..3 {
        assert_eq!(apply(Some(&stored), "1").await.1, 1, "it is there");
    }
    let newer = Arc::new(config_map("1", 20));
    assert_eq!(apply(Some(&newer), "1").await.1, 1, "another version has it, too");
    let drifted = Arc::new(config_map("2", 21));
    assert_eq!(apply(Some(&drifted), "1").await.1, 2, "somebody changed it");
    assert_eq!(apply(Some(&newer), "3").await.1, 3, "another configuration");
    assert_eq!(apply(Some(&newer), "1").await.1, 4, "the first configuration is not the last one any more");
}
