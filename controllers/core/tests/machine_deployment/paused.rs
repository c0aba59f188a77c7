//! The sizes of MachineSets while the MachineDeployment is paused.

use cluster_core::machine_deployment::paused::scale;
use cluster_core::machine_deployment::rollout::{Limits, Set};

/// A set with the replicas of its spec, all available; `maximum` is what its annotation says.
fn set(spec: i32, created: i64, maximum: Option<i32>) -> Set {
    let desired = maximum.map(|maximum| maximum - 1);
    Set {
        spec,
        status: spec,
        available: spec,
        intent: spec,
        created,
        desired,
        maximum,
        up_to_date: 0,
        moves: false,
    }
}

#[test]
fn sizes_while_paused() {
    type Row = (&'static str, i32, Option<(i32, i64)>, &'static [(i32, i64)], Option<i32>, &'static [i32]);
    // Columns: replicas, new set (spec, created), old sets, largest number before, wanted intents (new, old...).
    let rows: &[Row] = &[
        ("the only set follows", 10, Some((2, 1)), &[], Some(3), &[10]),
        ("the only set with Machines follows", 10, Some((0, 2)), &[(2, 1)], Some(3), &[0, 10]),
        ("no set has Machines: the one with the template", 3, Some((0, 1)), &[(0, 2)], None, &[3, 0]),
        ("no set has Machines: the newest", 3, None, &[(0, 1), (0, 2)], None, &[0, 3]),
        ("a full set replaces the others", 5, Some((5, 2)), &[(2, 1)], Some(6), &[5, 0]),
        ("at rest, the room that is left goes to the largest", 5, Some((1, 2)), &[(4, 1)], Some(6), &[1, 5]),
        ("nothing to add", 5, Some((2, 2)), &[(4, 1)], Some(6), &[2, 4]),
        ("twice as many", 11, Some((2, 2)), &[(4, 1)], Some(6), &[4, 8]),
        ("half", 2, Some((2, 2)), &[(4, 1)], Some(6), &[1, 2]),
        ("of equal sets the newer grows first", 6, Some((3, 2)), &[(3, 1)], Some(6), &[4, 3]),
        ("of equal sets the older shrinks first", 4, Some((3, 2)), &[(3, 1)], Some(6), &[3, 2]),
        (
            "a rollback: the set with the template is the older one",
            6,
            Some((3, 1)),
            &[(3, 2)],
            Some(6),
            &[3, 4],
        ),
        ("without annotations, what exists counts", 11, Some((2, 2)), &[(4, 1)], None, &[4, 8]),
        ("to nothing", 0, Some((2, 2)), &[(4, 1)], Some(6), &[0, 0]),
    ];
    for (what, replicas, new, old, maximum, wanted) in rows {
        let limits = Limits { replicas: *replicas, surge: 1, unavailable: 0 };
        let mut new = new.map(|(spec, created)| set(spec, created, *maximum));
        let mut old: Vec<Set> = old.iter().map(|(spec, created)| set(*spec, *created, *maximum)).collect();
        scale(&limits, new.as_mut(), &mut old, true);
        let intents: Vec<i32> = new.iter().chain(&old).map(|set| set.intent).collect();
        assert_eq!(intents, *wanted, "{what}");
    }
}

#[test]
fn on_delete_distributes_nothing() {
    let limits = Limits { replicas: 11, surge: 1, unavailable: 0 };
    let (mut new, mut old) = (set(2, 2, Some(6)), [set(4, 1, Some(6))]);
    scale(&limits, Some(&mut new), &mut old, false);
    assert_eq!((new.intent, old[0].intent), (2, 4));
}
