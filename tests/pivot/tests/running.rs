//! Pivots of clusters that are in use.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use engine::Manager;
use http::Request;
use parking_lot::Mutex;
use pivot::names::BLOCK_MOVE;
use pivot::progress::{Phase, Progress};
use pivot_tests::faults::Fault;
use pivot_tests::fixture::{Fixture, Size};
use pivot_tests::place::Place;
use pivot_tests::workload::User;
use pivot_tests::{Scene, simulated};
use serde_json::{Value, json};

/// Upper limit for the time in which an endpoint does not respond.
const AWAY: Duration = Duration::from_secs(2);
const SIZE: Size = Size { clusters: 1, control_plane: 3, workers: 2 };

async fn until(scene: &Scene, what: &str, reached: impl Fn() -> bool) {
    let deadline = scene.clock.monotonic() + Duration::from_secs(1800);
    loop {
        scene.clock.sleep(Duration::from_secs(1)).await;
        if reached() {
            return;
        }
        assert!(scene.clock.monotonic() < deadline, "{what} is not reached");
    }
}

fn of_kind(place: &Place, part: &str) -> BTreeMap<String, Value> {
    place.objects().into_iter().filter(|(key, _)| key.contains(part)).collect()
}

/// The fields that change when a machine is recreated or restarted: its name, its provider ID, its Node and
/// the times of its conditions.
fn machines(place: &Place) -> Vec<Value> {
    let started = |object: &Value| {
        let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
        let parts =
            conditions.filter(|condition| condition["type"].as_str().unwrap().contains("Provisioned"));
        let since: Vec<&Value> = parts.map(|condition| &condition["lastTransitionTime"]).collect();
        json!([object["metadata"]["name"], object["spec"]["providerID"], object["status"]["nodeRef"], since])
    };
    let kinds = ["cluster.x-k8s.io/machines/", "/devmachines/"];
    kinds.iter().flat_map(|kind| of_kind(place, kind).into_values()).map(|object| started(&object)).collect()
}

fn is_available(place: &Place) -> bool {
    let clusters = of_kind(place, "cluster.x-k8s.io/clusters/");
    let available = |object: &Value| {
        let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
        conditions
            .into_iter()
            .any(|condition| condition["type"] == "Available" && condition["status"] == "True")
    };
    !clusters.is_empty() && clusters.values().all(available)
}

async fn patch(place: &Place, path: &str, patch: Value) {
    let request = Request::patch(path)
        .header("content-type", "application/merge-patch+json")
        .body(patch.to_string().into_bytes())
        .unwrap();
    place.plane.client("kubectl").request::<Value>(request).await.unwrap();
}

/// Runs a pivot and compares the workload cluster before and after it, as its users see it.
async fn hand_over(scene: &Scene, pivot: pivot::Pivot, from: &Place, to: &Place, to_manager: &Manager) {
    let user = User::of(scene, from, "c0").unwrap();
    let before = user.everything().await.unwrap();
    let stood = machines(from);
    let usage = user.go_on(&format!("to-{}", to.role));
    scene.clock.sleep(Duration::from_secs(1)).await;
    let report = pivot.run().await.unwrap_or_else(|error| panic!("{error}"));
    assert!(report.findings.is_empty(), "{report}");
    scene.clock.sleep(Duration::from_secs(5)).await;
    let (away, written) = usage.end();
    assert!(away < AWAY, "the endpoint was away for {away:?}");
    assert!(written.len() > 100, "it took only {} writes", written.len());
    until(scene, "rest", || to_manager.is_idle(Duration::from_secs(5))).await;
    assert_eq!(machines(to), stood);
    let after = User::of(scene, to, "c0").unwrap().everything().await.unwrap();
    for (name, object) in &before {
        assert_eq!(after.get(name), Some(object), "{name}");
    }
    let added: Vec<&String> = after.keys().filter(|name| !before.contains_key(*name)).collect();
    assert!(added.iter().all(|name| name.contains(&format!("to-{}-", to.role))), "{added:?}");
    for name in written {
        assert!(added.iter().any(|added| added.ends_with(&format!("\"{name}\""))), "{name} was acknowledged");
    }
    for place in [from, to] {
        let left = of_kind(place, "-simulated-state-");
        assert!(left.is_empty(), "{left:?}");
    }
    assert!(of_kind(from, "/machines/").is_empty());
    assert_eq!(scene.watch.violations(), Vec::<String>::new());
}

#[test]
fn a_cluster_moves_while_it_runs_and_back() {
    let fixture = Fixture::make(SIZE).unwrap();
    simulated(async {
        let scene = Scene::new(&fixture).await.unwrap();
        let (source, target) = (&scene.source, &scene.target);
        let managers = (source.manage(), target.manage());
        until(&scene, "rest", || managers.0.is_idle(Duration::from_secs(5))).await;
        User::of(&scene, source, "c0").unwrap().write("kept").await.unwrap();
        hand_over(&scene, scene.pivot().unwrap(), source, target, &managers.1).await;

        // The cluster can still be scaled and upgraded.
        let control_plane = "/apis/controlplane.cluster.x-k8s.io/v1beta2/namespaces/default/kubeadmcontrolplanes/c0-control-plane";
        let workers = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machinedeployments/c0-workers";
        patch(target, workers, json!({"spec": {"replicas": 3}})).await;
        until(&scene, "three workers", || of_kind(target, "cluster.x-k8s.io/machines/").len() == 6).await;
        patch(target, control_plane, json!({"spec": {"version": "v1.36.0"}})).await;
        patch(target, workers, json!({"spec": {"template": {"spec": {"version": "v1.36.0"}}}})).await;
        until(&scene, "the new version", || {
            let machines = of_kind(target, "cluster.x-k8s.io/machines/");
            let new = machines.values().all(|machine| machine["spec"]["version"] == "v1.36.0");
            new && machines.len() == 6 && is_available(target) && managers.1.is_idle(Duration::from_secs(5))
        })
        .await;

        hand_over(&scene, scene.pivot_back().unwrap(), target, source, &managers.0).await;
        patch(source, workers, json!({"spec": {"replicas": 1}})).await;
        until(&scene, "one worker", || of_kind(source, "cluster.x-k8s.io/machines/").len() == 4).await;
        managers.0.stop().await;
        managers.1.stop().await;
    });
}

/// A pivot that is rolled back leaves the workload cluster unchanged, and the cluster accepts writes again.
#[test]
fn what_was_held_is_released() {
    let fixture = Fixture::make(Size { control_plane: 1, workers: 1, ..SIZE }).unwrap();
    simulated(async {
        let scene = Scene::new(&fixture).await.unwrap();
        let manager = scene.source.manage();
        until(&scene, "rest", || manager.is_idle(Duration::from_secs(5))).await;
        let user = User::of(&scene, &scene.source, "c0").unwrap();
        let before = user.everything().await.unwrap();
        let stop = pivot_tests::journal::Stop { record: 9, written: true };
        scene.pivot_with(Default::default(), Some(stop)).unwrap().run().await.unwrap_err();
        let refused = user.write("late").await.unwrap_err();
        assert!(refused.to_string().contains("try again later"), "{refused}");
        assert_eq!(user.everything().await.unwrap(), before);
        scene.pivot().unwrap().roll_back().await.unwrap();
        scene.clock.sleep(Duration::from_secs(1)).await;
        user.write("late").await.unwrap();
        assert!(of_kind(&scene.source, "-simulated-state-").is_empty());
        manager.stop().await;
    });
}

/// Keeps what a pivot waits for.
#[derive(Default)]
struct Told(Mutex<Vec<String>>);

impl Progress for Told {
    fn at(&self, _: Phase, _: usize, _: usize) {}

    fn waits_for(&self, objects: &[String], annotation: &str) {
        self.0.lock().push(format!("{annotation}: {}", objects.join(", ")));
    }
}

#[test]
fn what_a_provider_holds_back_is_named() {
    let fixture = Fixture::make(Size { control_plane: 1, workers: 0, ..SIZE }).unwrap();
    simulated(async {
        let scene = Scene::new(&fixture).await.unwrap();
        let manager = scene.source.manage();
        until(&scene, "rest", || manager.is_idle(Duration::from_secs(5))).await;
        let path = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/clusters/c0";
        let block = |value: Value| json!({"metadata": {"annotations": {BLOCK_MOVE: value}}});
        patch(&scene.source, path, block(json!(""))).await;
        let told = Arc::new(Told::default());
        let pivot = scene.pivot_told(told.clone()).unwrap();
        let release = async {
            until(&scene, "the pivot waits", || !told.0.lock().is_empty()).await;
            patch(&scene.source, path, block(Value::Null)).await;
        };
        let (report, ()) = tokio::join!(pivot.run(), release);
        report.unwrap();
        assert_eq!(*told.0.lock(), [format!("{BLOCK_MOVE}: Cluster default/c0")]);
        manager.stop().await;
    });
}

#[test]
fn what_is_held_back_is_named_before_the_source_is_watched() {
    let fixture = Fixture::make(Size { control_plane: 1, workers: 0, ..SIZE }).unwrap();
    simulated(async {
        let block = json!({"metadata": {"annotations": {BLOCK_MOVE: ""}}});
        let scene = async || {
            let scene = Scene::new(&fixture).await.unwrap();
            let path = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/clusters/c0";
            patch(&scene.source, path, block.clone()).await;
            scene
        };
        let first = scene().await;
        let watch = || first.faults.trace().iter().position(|request| request.contains("watch=true"));
        tokio::select! {
            _ = first.pivot().unwrap().run() => panic!("nothing is released"),
            () = until(&first, "a watch", || watch().is_some()) => {}
        }
        let second = scene().await;
        second.faults.plan(watch().unwrap() as u64 + 1, Fault::Away(1));
        let told = Arc::new(Told::default());
        second.pivot_told(told.clone()).unwrap().run().await.unwrap_err();
        assert_eq!(*told.0.lock(), [format!("{BLOCK_MOVE}: Cluster default/c0")]);
    });
}
