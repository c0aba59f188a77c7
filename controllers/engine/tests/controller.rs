//! Tests of the controller loop, over a client whose server answers with a fixed list.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test")]

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use engine::network::SimulatedNetwork;
use engine::{Action, Controller, Error, Manager, ManagerOptions, Reconciler, Request, Result};
use http::Response;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::client::Body;
use machinery::clock::Clock;
use machinery::random::Random;
use serde_json::json;

/// Returns a manager whose server lists one ConfigMap; its watches stay open and silent.
fn manager() -> Manager {
    let service = tower::service_fn(|request: http::Request<Body>| async move {
        if request.uri().query().is_some_and(|query| query.contains("watch=true")) {
            std::future::pending::<()>().await;
        }
        let object =
            json!({"metadata": {"name": "one", "namespace": "default", "uid": "1", "resourceVersion": "5"}});
        let list = json!({"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {"resourceVersion": "9"}, "items": [object]});
        Ok::<_, Infallible>(Response::new(Body::from(list.to_string().into_bytes())))
    });
    Manager::new(ManagerOptions {
        client: Client::new(service, "default"),
        clock: Clock::simulated(machinery::clock::parse_rfc3339("2026-01-01T00:00:00Z").unwrap()),
        random: Random::seeded(1),
        network: Arc::new(SimulatedNetwork::new()),
        metrics: Default::default(),
    })
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
    let manager = manager();
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
    let manager = manager();
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
