//! The limits of the watches of Pods.

use cluster_core::machine::pod_watches::{PodWatches, WATCHES};
use engine::Request;

#[tokio::test]
async fn there_is_one_watch_for_a_machine_and_a_limit_for_all() {
    let watches = PodWatches::default();
    let name = |number: usize| Request::new("default", format!("m{number}"));
    let try_one = |number: usize| {
        let mut started = false;
        watches.keep(name(number), || {
            started = true;
            tokio::spawn(std::future::pending())
        });
        started
    };
    assert!((0..WATCHES).all(try_one), "below and at the limit");
    assert!(!try_one(WATCHES), "above it");
    watches.stop(&name(0));
    assert!(!try_one(1), "one is enough");
    assert!(try_one(WATCHES), "one has ended");
}
