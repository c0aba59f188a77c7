//! Pivots through a directory.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::path::Path;
use std::sync::LazyLock;

use pivot::Options;
use pivot::journal::MemoryDisk;
use pivot::report::Outcome;
use pivot_tests::fixture::{Fixture, Size};
use pivot_tests::journal::Stop;
use pivot_tests::outcome::{content, wrong_after_move, wrong_after_roll_back};
use pivot_tests::{Scene, simulated};

static FIXTURE: LazyLock<Fixture> =
    LazyLock::new(|| Fixture::make(Size { clusters: 1, control_plane: 1, workers: 1 }).unwrap());

#[test]
fn what_was_saved_is_restored() {
    simulated(async {
        let folder = tempfile::tempdir().unwrap();
        let scene = Scene::new(&FIXTURE).await.unwrap();
        let original = content(scene.source.objects());
        scene.pivot().unwrap().save(folder.path()).await.unwrap();
        let wrong = wrong_after_roll_back(&scene, &original);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        // Restored to the target. The objects still exist at the source, and errors about that are ignored.
        scene.pivot().unwrap().restore_from(folder.path()).await.unwrap();
        let lost = "is still at the source";
        let wrong = wrong_after_move(&scene, &original, |key| key.ends_with("/stranger"));
        let wrong: Vec<String> = wrong
            .into_iter()
            .filter(|line| !line.ends_with(lost) && !line.starts_with("/registry/cluster.x-k8s.io/clusters/"))
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        let cluster = "/registry/cluster.x-k8s.io/clusters/default/c0";
        assert!(scene.target.object(cluster).unwrap()["spec"]["paused"].is_null());
    });
}

/// A restore that is killed at any record is completed by running it again. Another run changes nothing.
#[test]
fn a_restore_that_was_killed_is_run_again() {
    for record in 1.. {
        let reached = simulated(async {
            let folder = tempfile::tempdir().unwrap();
            let mut scene = Scene::new(&FIXTURE).await.unwrap();
            let original = content(scene.source.objects());
            scene.pivot().unwrap().save(folder.path()).await.unwrap();
            scene.disk = MemoryDisk::default();
            let stop = Stop { record, written: true };
            let killed =
                scene.pivot_with(Options::default(), Some(stop)).unwrap().restore_from(folder.path());
            let killed = killed.await.is_err();
            scene.pivot().unwrap().restore_from(folder.path()).await.unwrap();
            let wrong = wrong_after_move(&scene, &original, |key| key.ends_with("/stranger"));
            let lost = "is still at the source";
            let wrong: Vec<String> = wrong
                .into_iter()
                .filter(|line| {
                    !line.ends_with(lost) && !line.starts_with("/registry/cluster.x-k8s.io/clusters/")
                })
                .collect();
            assert!(wrong.is_empty(), "killed at record {record}: {}", wrong.join("\n"));
            let before = content(scene.target.objects());
            let report = scene.pivot().unwrap().restore_from(folder.path()).await.unwrap();
            assert_eq!(report.count(Outcome::Left), before.len(), "{report}");
            assert_eq!(content(scene.target.objects()), before);
            killed
        });
        if !reached {
            assert!(record > 8, "the restore has ended before it was killed anywhere");
            return;
        }
    }
}

fn spoil(folder: &Path, how: &str) {
    let first = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().contains("/Cluster_"))
        .unwrap();
    match how {
        "missing" => std::fs::remove_file(first).unwrap(),
        "edited" => std::fs::write(&first, std::fs::read_to_string(&first).unwrap() + " ").unwrap(),
        _ => std::fs::write(folder.join("Stranger.yaml"), "a: b").unwrap(),
    }
}

#[test]
fn a_spoilt_directory_is_refused() {
    for (how, words) in [
        ("missing", "it is missing"),
        ("edited", "it was changed after it was saved"),
        ("more", "it was not saved with the others"),
    ] {
        simulated(async {
            let folder = tempfile::tempdir().unwrap();
            let scene = Scene::new(&FIXTURE).await.unwrap();
            scene.pivot().unwrap().save(folder.path()).await.unwrap();
            spoil(folder.path(), how);
            let error = scene.pivot().unwrap().restore_from(folder.path()).await.unwrap_err().to_string();
            assert!(error.contains(words), "{how}: {error}");
            assert!(content(scene.target.objects()).is_empty());
        });
    }
}
