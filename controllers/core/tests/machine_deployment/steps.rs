//! The steps of a rollout in numbers.

use cluster_core::machine_deployment::rollout::{Limits, Set, on_delete, rolling_update};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

const LIMITS: Limits = Limits { replicas: 3, surge: 1, unavailable: 0 };

#[test]
fn one_step_of_a_rolling_update() {
    // Columns: new set (spec, status, available), old sets, wanted intents (new, old...).
    type Row = ((i32, i32, i32), &'static [(i32, i32, i32)], &'static [i32]);
    let rows: &[Row] = &[
        ((0, 0, 0), &[], &[3]),
        ((0, 0, 0), &[(3, 3, 3)], &[1, 3]),
        ((1, 1, 0), &[(3, 3, 3)], &[1, 3]),
        ((1, 1, 1), &[(3, 3, 3)], &[1, 2]),
        ((1, 1, 1), &[(2, 3, 2)], &[1, 2]),
        ((1, 1, 1), &[(2, 2, 2)], &[2, 2]),
        ((3, 3, 3), &[(1, 1, 1)], &[3, 0]),
        ((3, 3, 3), &[(0, 0, 0)], &[3, 0]),
        // Unavailable old replicas go first, from the oldest set.
        ((1, 1, 1), &[(2, 2, 0), (1, 1, 1)], &[1, 1, 1]),
        // The MachineDeployment is scaled down.
        ((5, 5, 5), &[], &[3]),
        // All is still, and what is not available is old: one of it goes, although it could hurt availability.
        ((1, 1, 1), &[(3, 3, 2)], &[1, 2]),
        // The same, but new replicas may still become available.
        ((1, 1, 0), &[(3, 3, 2)], &[1, 3]),
        // The same, but a set changes already.
        ((1, 1, 1), &[(3, 4, 2)], &[1, 3]),
    ];
    for (new, old, wanted) in rows {
        let mut new_set = Set::new(new.0, new.1, new.2);
        let mut old_sets: Vec<Set> = old.iter().map(|set| Set::new(set.0, set.1, set.2)).collect();
        rolling_update(&LIMITS, &mut new_set, &mut old_sets, false);
        let intents: Vec<i32> = std::iter::once(&new_set).chain(&old_sets).map(|set| set.intent).collect();
        assert_eq!(intents, *wanted, "new {new:?} old {old:?}");
    }
}

#[test]
fn what_is_deleted_already_counts() {
    let limits = Limits { replicas: 4, surge: 1, unavailable: 0 };
    // Of the old set, one replica is deleted, and it may be one of the three that are available. Then four are left.
    let (mut new, mut old) = (Set::new(3, 3, 2), [Set::new(4, 5, 3)]);
    rolling_update(&limits, &mut new, &mut old, false);
    assert_eq!((new.intent, old[0].intent), (3, 4));
    // The same, spread over two old sets.
    let mut old = [Set::new(1, 2, 2), Set::new(3, 3, 1)];
    rolling_update(&limits, &mut new, &mut old, false);
    assert_eq!((old[0].intent, old[1].intent), (1, 3));
    // With one more that is available, one can go.
    let (mut new, mut old) = (Set::new(3, 3, 3), [Set::new(4, 5, 3)]);
    rolling_update(&limits, &mut new, &mut old, false);
    assert_eq!((new.intent, old[0].intent), (3, 3));
}

/// Runs rollouts to completion while Machines become available one at a time, and checks the limits at
/// each step.
#[test]
fn rollouts_end_within_their_limits() {
    for (replicas, surge, unavailable) in [(3, 1, 0), (4, 0, 1), (5, 2, 2), (1, 1, 0), (10, 3, 0), (6, 0, 6)]
    {
        let limits = Limits { replicas, surge, unavailable };
        let (mut new, mut old) = (Set::new(0, 0, 0), vec![Set::new(replicas, replicas, replicas)]);
        for step in 0..200 {
            rolling_update(&limits, &mut new, &mut old, false);
            for set in std::iter::once(&mut new).chain(&mut old) {
                set.spec = set.intent;
            }
            let available = new.available + old.iter().map(|set| set.available).sum::<i32>();
            assert!(available >= replicas - unavailable, "{limits:?} step {step}: {new:?} {old:?}");
            // One event per step: a Machine is deleted, is created, or becomes available.
            if let Some(set) = old.iter_mut().find(|set| set.status > set.spec) {
                set.status -= 1;
                set.available = set.available.min(set.status);
            } else if new.status < new.spec {
                new.status += 1;
            } else if new.available < new.status {
                new.available += 1;
            }
            let total = new.status + old.iter().map(|set| set.status).sum::<i32>();
            assert!(total <= replicas + surge, "{limits:?} step {step}: {total} Machines");
        }
        assert_eq!((new.available, old[0].status), (replicas, 0), "{limits:?}");
    }
}

#[test]
fn on_delete_replaces_only_what_is_gone() {
    let mut new = Set::new(0, 0, 0);
    let mut old = [Set::new(3, 3, 3)];
    on_delete(&LIMITS, &mut new, &mut old);
    assert_eq!((new.intent, old[0].intent), (0, 3));
    let mut old = [Set::new(3, 2, 2)];
    on_delete(&LIMITS, &mut new, &mut old);
    assert_eq!((new.intent, old[0].intent), (1, 2));
    let mut new = Set::new(2, 2, 2);
    let mut old = [Set::new(1, 1, 1), Set::new(1, 1, 1)];
    on_delete(&LIMITS, &mut new, &mut old);
    assert_eq!((new.intent, old[0].intent, old[1].intent), (2, 0, 1));
}

#[test]
fn numbers_and_percentages() {
    let percent = |text: &str| IntOrString::String(text.to_owned());
    let limits = Limits::resolve(10, Some(&percent("25%")), Some(&percent("25%")));
    assert_eq!((limits.surge, limits.unavailable), (3, 2));
    let limits = Limits::resolve(2, Some(&IntOrString::Int(0)), Some(&percent("10%")));
    assert_eq!((limits.surge, limits.unavailable), (0, 1));
    let limits = Limits::resolve(3, None, None);
    assert_eq!((limits.surge, limits.unavailable), (1, 0));
}
