//! A complete pivot.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use pivot::Options;
use pivot::report::Outcome;
use pivot_tests::fixture::{Fixture, Size};
use pivot_tests::journal::Stop;
use pivot_tests::outcome::{content, wrong_after_move};
use pivot_tests::{Scene, simulated};
use server::controllers::{self, Context};

/// Limit for two clusters of seven machines, 88 objects, all of which are read back. clusterctl needs 1,248
/// requests for 82 objects. An object with several field managers and a status takes three requests to
/// create: a create assigns all fields to one manager, and a write of the status does not change the
/// managers. A fourth request deletes it at the source, if it is unchanged since the comparison. Two find
/// out whether somebody hands over hosts.
const REQUESTS: u64 = 447;

#[test]
fn two_clusters_move_with_few_requests() {
    let fixture = Fixture::make(Size { clusters: 2, control_plane: 3, workers: 4 }).unwrap();
    simulated(async {
        let scene = Scene::new(&fixture).await.unwrap();
        let original = content(scene.source.objects());
        let report = match scene.pivot().unwrap().run().await {
            Ok(report) => report,
            Err(error) => panic!("{error}\n{}", scene.faults.trace().join("\n")),
        };
        let wrong = wrong_after_move(&scene, &original, |key| key.ends_with("/stranger"));
        assert!(wrong.is_empty(), "{}\n{report}", wrong.join("\n"));
        let moved = report.count(Outcome::Moved);
        assert!(moved > 80, "{report}");
        let requests = report.source_requests + report.target_requests;
        assert!(
            requests <= REQUESTS,
            "{requests} requests for {moved} objects\n{}",
            scene.faults.trace().join("\n")
        );
    });
}

/// The controllers of a paused source add finalizers again to objects that are about to be deleted.
#[test]
fn nothing_stays_behind_while_controllers_run() {
    let fixture = Fixture::make(Size { clusters: 1, control_plane: 1, workers: 2 }).unwrap();
    simulated(async {
        let scene = Scene::new(&fixture).await.unwrap();
        let managers = [scene.source.plane.manager(), scene.target.plane.manager()];
        for manager in &managers {
            controllers::start(&Context::new(manager), &"core,kubeadm".parse().unwrap());
        }
        let before = content(scene.source.objects());
        let stop = Stop { record: 8, written: true };
        scene.pivot_with(Options::default(), Some(stop)).unwrap().run().await.unwrap_err();
        assert!(!content(scene.target.objects()).is_empty());
        scene.pivot().unwrap().roll_back().await.unwrap();
        let left: Vec<String> = content(scene.target.objects()).into_keys().collect();
        assert!(left.is_empty(), "{}", left.join("\n"));
        scene.pivot().unwrap().run().await.unwrap();
        let source: Vec<String> = content(scene.source.objects()).into_keys().collect();
        assert!(source.iter().all(|key| key.ends_with("/stranger")), "{}", source.join("\n"));
        assert_eq!(content(scene.target.objects()).len(), before.len() - source.len());
        assert_eq!(scene.watch.violations(), Vec::<String>::new());
        for manager in managers {
            manager.stop().await;
        }
    });
}
