//! A pivot that is stopped at any record or request is completed by the next run or rolled back.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::sync::LazyLock;

use pivot::Options;
use pivot::journal::Record;
use pivot_tests::faults::Fault;
use pivot_tests::fixture::{Fixture, Size};
use pivot_tests::journal::Stop;
use pivot_tests::outcome::{Objects, content, wrong_after_move, wrong_after_roll_back};
use pivot_tests::{Scene, simulated};

static FIXTURE: LazyLock<Fixture> =
    LazyLock::new(|| Fixture::make(Size { clusters: 1, control_plane: 1, workers: 1 }).unwrap());

fn stays(key: &str) -> bool {
    key.ends_with("/stranger")
}

/// Resumes the pivot, or rolls it back where this is still possible. Returns the errors.
async fn recover(scene: &Scene, original: &Objects, back: bool) -> Vec<String> {
    let state = pivot::Journal::open(Box::new(scene.disk.clone())).unwrap();
    let (begun, over) = (state.state().header.is_some(), state.state().handed_over);
    let (ended, undone) = (state.state().ended(), state.state().rolled_back);
    drop(state);
    // A pivot rolls itself back when it fails before it has created an object at the target.
    if !begun || undone {
        return wrong_after_roll_back(scene, original);
    }
    if ended {
        return wrong_after_move(scene, original, stays);
    }
    if back {
        let outcome = scene.pivot().unwrap().roll_back().await;
        if !over {
            return match outcome {
                Ok(_) => wrong_after_roll_back(scene, original),
                Err(error) => vec![format!("cannot be rolled back: {error}")],
            };
        }
        assert!(outcome.is_err(), "a pivot that has handed over was rolled back");
    }
    match scene.pivot().unwrap().resume().await {
        Ok(_) => wrong_after_move(scene, original, stays),
        Err(error) => vec![format!("cannot be resumed: {error}")],
    }
}

/// Stops the pivot at each of its records, before or after the record is written, and finishes it or rolls it back.
fn at_every_record(written: bool, back: bool) {
    let mut failures = Vec::new();
    for record in 1.. {
        let mut reached = false;
        let stop = Stop { record, written };
        let wrong = simulated(async {
            let scene = Scene::new(&FIXTURE).await.unwrap();
            let original = content(scene.source.objects());
            let pivot = scene.pivot_with(Options::default(), Some(stop)).unwrap();
            if pivot.run().await.is_ok() {
                return wrong_after_move(&scene, &original, stays);
            }
            reached = true;
            recover(&scene, &original, back).await
        });
        if !wrong.is_empty() {
            failures.push(format!("{stop:?}:\n  {}", wrong.join("\n  ")));
        }
        if !reached {
            assert!(record > 12, "only {record} records");
            break;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

// Each of these takes half a minute, and they run beside each other.
#[test]
fn finished_after_a_stop_before_every_record() {
    at_every_record(false, false);
}

#[test]
fn finished_after_a_stop_behind_every_record() {
    at_every_record(true, false);
}

#[test]
fn rolled_back_after_a_stop_before_every_record() {
    at_every_record(false, true);
}

#[test]
fn rolled_back_after_a_stop_behind_every_record() {
    at_every_record(true, true);
}

/// The distance between two tested requests. `PIVOT_EVERY_REQUEST=1` tests all requests.
fn stride() -> u64 {
    if std::env::var_os("PIVOT_EVERY_REQUEST").is_some() { 1 } else { 13 }
}

#[test]
fn at_requests() {
    let faults = [
        (Fault::KillBefore, false),
        (Fault::KillAfter, false),
        (Fault::KillAfter, true),
        (Fault::LostAnswer, false),
        (Fault::Away(3), false),
        (Fault::Away(200), false),
        (Fault::Away(200), true),
    ];
    let total = simulated(async {
        let scene = Scene::new(&FIXTURE).await.unwrap();
        scene.pivot().unwrap().run().await.unwrap();
        scene.faults.requests()
    });
    let mut failures = Vec::new();
    for (index, (fault, back)) in faults.into_iter().enumerate() {
        let mut request = 1 + index as u64;
        while request <= total {
            let wrong = simulated(async {
                let scene = Scene::new(&FIXTURE).await.unwrap();
                let original = content(scene.source.objects());
                scene.faults.plan(request, fault);
                let ended = tokio::select! {
                    biased;
                    () = scene.faults.killed() => false,
                    outcome = scene.pivot().unwrap().run() => outcome.is_ok(),
                };
                scene.faults.clear();
                if ended {
                    return wrong_after_move(&scene, &original, stays);
                }
                recover(&scene, &original, back).await
            });
            if !wrong.is_empty() {
                failures
                    .push(format!("{fault:?} at request {request}, back: {back}:\n  {}", wrong.join("\n  ")));
            }
            request += stride();
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_journal_of_other_servers_is_refused() {
    simulated(async {
        let scene = Scene::new(&FIXTURE).await.unwrap();
        let stop = Stop { record: 4, written: true };
        let stopped = scene.pivot_with(Options::default(), Some(stop)).unwrap();
        stopped.run().await.unwrap_err();
        let error = scene.pivot().unwrap().run().await.unwrap_err().to_string();
        assert!(error.contains("--resume"), "{error}");
        let mut journal = pivot::Journal::open(Box::new(scene.disk.clone())).unwrap();
        let mut header = journal.state().header.clone().unwrap();
        header.target = "another".into();
        journal.append(Record::Started(header)).unwrap();
        drop(journal);
        let error = scene.pivot().unwrap().resume().await.unwrap_err().to_string();
        assert!(error.contains("whose target was another server"), "{error}");
    });
}
