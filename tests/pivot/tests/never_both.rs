//! The controllers of both sides run while pivots are killed. The record of their requests must show that
//! both sides never reconcile the same cluster at the same time.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::sync::LazyLock;
use std::time::Duration;

use engine::Manager;
use http::Request;
use pivot::Options;
use pivot_tests::fixture::{Fixture, Size};
use pivot_tests::journal::Stop;
use pivot_tests::outcome::content;
use pivot_tests::place::Place;
use pivot_tests::recorded::Record;
use pivot_tests::{Scene, simulated};
use serde_json::{Value, json};
use server::controllers::{self, Context};

static FIXTURE: LazyLock<Fixture> =
    LazyLock::new(|| Fixture::make(Size { clusters: 1, control_plane: 1, workers: 1 }).unwrap());

const CLUSTER: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/clusters/c0";
const WORKERS: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machinedeployments/c0-workers";

fn start(record: &Record, place: &Place, other: &Place) -> Manager {
    let manager = place.plane.manager_with(record.client(place, other));
    controllers::start(&Context::new(&manager), &"core,kubeadm".parse().unwrap());
    manager
}

async fn rest(scene: &Scene, managers: &[Manager]) {
    let deadline = scene.clock.monotonic() + Duration::from_secs(600);
    // Recent writes have not reached the controllers yet.
    scene.clock.sleep(Duration::from_secs(3)).await;
    while !managers.iter().all(|manager| manager.is_idle(Duration::from_secs(2))) {
        assert!(scene.clock.monotonic() < deadline, "the controllers do not come to rest");
        scene.clock.sleep(Duration::from_secs(1)).await;
    }
}

async fn patch(place: &Place, path: &str, patch: Value) {
    let request = Request::patch(path)
        .header("content-type", "application/merge-patch+json")
        .body(patch.to_string().into_bytes())
        .unwrap();
    place.plane.client("kubectl").request::<Value>(request).await.unwrap();
}

/// Makes a change that controllers act on immediately when they are active: they copy the labels to Machines.
async fn ask_for_work(place: &Place, value: &str) {
    let labels = json!({"spec": {"template": {"metadata": {"labels": {"work": value}}}}});
    patch(place, WORKERS, labels).await;
}

#[test]
fn at_no_instant_both_sides_reconcile_a_cluster() {
    for record in 1.. {
        let reached = simulated(async {
            let scene = Scene::new(&FIXTURE).await.unwrap();
            let requests = Record::default();
            let managers = [
                start(&requests, &scene.source, &scene.target),
                start(&requests, &scene.target, &scene.source),
            ];
            ask_for_work(&scene.source, "before").await;
            rest(&scene, &managers).await;
            assert!(!requests.reconciling("source").is_empty(), "the source's controllers had nothing to do");

            let stop = Stop { record, written: true };
            let killed = scene.pivot_with(Options::default(), Some(stop)).unwrap().run().await.is_err();
            let state = pivot::Journal::open(Box::new(scene.disk.clone())).unwrap();
            let (paused, unpaused, ended) =
                (state.state().paused, state.state().unpaused, state.state().ended());
            drop(state);
            let edited = killed && paused && !unpaused;
            if edited {
                // A controller whose Cluster is not paused would act on it.
                let at_rest = requests.reconciling("source").len();
                ask_for_work(&scene.source, "meanwhile").await;
                rest(&scene, &managers).await;
                assert_eq!(requests.reconciling("source").len(), at_rest, "killed at record {record}");
                assert!(requests.reconciling("target").is_empty(), "killed at record {record}");
            }
            if killed && !ended {
                scene.pivot().unwrap().resume().await.unwrap();
            }
            ask_for_work(&scene.target, "after").await;
            rest(&scene, &managers).await;
            assert!(!requests.reconciling("target").is_empty(), "the target's controllers had nothing to do");
            assert_eq!(requests.violations(), Vec::<String>::new(), "killed at record {record}");
            assert_eq!(scene.watch.violations(), Vec::<String>::new(), "killed at record {record}");
            let left: Vec<String> = content(scene.source.objects()).into_keys().collect();
            // Objects that were changed at the source after their comparison remain there, with their owner.
            let kept = |key: &str| edited && (key.ends_with("/c0-workers") || key.ends_with("/c0"));
            assert!(
                left.iter().all(|key| key.ends_with("/stranger") || kept(key)),
                "killed at record {record}: {left:?}"
            );
            for manager in managers {
                manager.stop().await;
            }
            killed
        });
        if !reached {
            assert!(record > 10, "the pivot has ended before it was killed anywhere");
            return;
        }
    }
}

/// The record detects when both sides reconcile the same cluster.
#[test]
fn both_sides_at_once_are_noticed() {
    simulated(async {
        let scene = Scene::new(&FIXTURE).await.unwrap();
        let requests = Record::default();
        let managers =
            [start(&requests, &scene.source, &scene.target), start(&requests, &scene.target, &scene.source)];
        let keep = Options { keep_source: true, ..Options::default() };
        scene.pivot_with(keep, None).unwrap().run().await.unwrap();
        rest(&scene, &managers).await;
        assert_eq!(requests.violations(), Vec::<String>::new());
        patch(&scene.source, CLUSTER, json!({"spec": {"paused": null}})).await;
        ask_for_work(&scene.source, "both").await;
        rest(&scene, &managers).await;
        assert!(!requests.violations().is_empty());
        for manager in managers {
            manager.stop().await;
        }
    });
}
