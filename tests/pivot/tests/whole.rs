//! One pivot from beginning to end.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use pivot::report::Outcome;
use pivot_tests::fixture::{Fixture, Size};
use pivot_tests::outcome::{content, wrong_after_move};
use pivot_tests::{Scene, simulated};

/// For two clusters of seven machines, 86 objects, with everything read back: clusterctl needs 1,248 for 82 objects.
const REQUESTS: u64 = 410;

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
