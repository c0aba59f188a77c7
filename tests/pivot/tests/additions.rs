//! Pivots to targets that add fields to the objects.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::sync::LazyLock;

use pivot::Options;
use pivot_tests::fixture::{Fixture, Size};
use pivot_tests::journal::Stop;
use pivot_tests::outcome::{content, wrong_after_move, wrong_after_roll_back};
use pivot_tests::{Scene, simulated};
use serde_json::Value;
use store::{Key, Operation};

static FIXTURE: LazyLock<Fixture> =
    LazyLock::new(|| Fixture::make(Size { clusters: 1, control_plane: 1, workers: 1 }).unwrap());

/// Removes defaulted fields from the Machines of the source, as if its server had not set defaults.
async fn without_defaults() -> Scene {
    let scene = Scene::new(&FIXTURE).await.unwrap();
    for (key, mut object) in scene.source.objects() {
        if !key.contains("/cluster.x-k8s.io/machines/") {
            continue;
        }
        assert!(object["spec"]["deletion"].is_object(), "{key} has no defaults");
        object["spec"].as_object_mut().unwrap().remove("deletion");
        let key = Key::parse(&key).unwrap();
        let revision = scene.source.store.get(&key).unwrap().mod_revision;
        let value = move |revision: store::Revision| {
            object["metadata"]["resourceVersion"] = revision.to_string().into();
            object.to_string().into()
        };
        scene.source.store.commit(vec![Operation::update(key, revision, value)]).await.unwrap();
    }
    scene
}

fn only_additions(wrong: Vec<String>) -> Vec<String> {
    wrong.into_iter().filter(|line| !line.ends_with("differs at spec.deletion")).collect()
}

#[test]
fn what_a_target_adds_is_reported() {
    simulated(async {
        let scene = without_defaults().await;
        let original = content(scene.source.objects());
        let report = scene.pivot().unwrap().run().await.unwrap();
        let wrong = only_additions(wrong_after_move(&scene, &original, |key| key.ends_with("/stranger")));
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        let found: Vec<&str> = report
            .findings
            .iter()
            .filter(|found| found.object.starts_with("Machine "))
            .map(|found| found.what.as_str())
            .collect();
        assert_eq!(found, ["added by the target: spec.deletion"], "{report}");
    });
}

#[test]
fn such_a_target_does_not_stand_in_the_way_of_an_end() {
    for record in 1.. {
        let mut reached = false;
        for (written, back) in [(true, false), (false, true)] {
            let wrong = simulated(async {
                let scene = without_defaults().await;
                let original = content(scene.source.objects());
                let stop = Stop { record, written };
                reached |= scene.pivot_with(Options::default(), Some(stop)).unwrap().run().await.is_err();
                let state = pivot::Journal::open(Box::new(scene.disk.clone())).unwrap();
                let (begun, ended) = (state.state().header.is_some(), state.state().ended());
                let back = back && !state.state().handed_over;
                drop(state);
                if !begun {
                    return wrong_after_roll_back(&scene, &original);
                }
                if back && !ended {
                    scene.pivot().unwrap().roll_back().await.unwrap();
                    return wrong_after_roll_back(&scene, &original);
                }
                if !ended {
                    scene.pivot().unwrap().resume().await.unwrap();
                }
                wrong_after_move(&scene, &original, |key| key.ends_with("/stranger"))
            });
            let wrong: Vec<Value> = only_additions(wrong).into_iter().map(Value::from).collect();
            assert!(wrong.is_empty(), "record {record}, written: {written}, back: {back}: {wrong:?}");
        }
        if !reached {
            return;
        }
    }
}
