//! Smaller scripts that fail.

use simulation::drawn::script::{Act, Action, Script};
use simulation::drawn::shrink::smallest;

/// Whether a script has this action, of whatever cluster.
fn has(script: &Script, is_it: impl Fn(&Action) -> bool) -> bool {
    script.acts.iter().any(|Act(_, action)| is_it(action))
}

#[test]
fn what_a_failure_does_not_need_is_left_out() {
    let is_upgrade = |action: &Action| matches!(action, Action::Upgrade(_));
    let is_deletion = |action: &Action| matches!(action, Action::DeleteWorkers(_));
    let (mut shrunk, mut cheap) = (0, 0);
    for seed in 1..500 {
        let script = Script::draw(seed);
        let (has_upgrade, has_deletion) = (has(&script, is_upgrade), has(&script, is_deletion));
        if has_upgrade && !script.kills.is_empty() {
            let found = smallest(&script, |script| has(script, is_upgrade) && !script.kills.is_empty());
            assert_eq!((found.clusters.len(), found.kills.len()), (1, 1), "seed {seed}");
            assert!(
                matches!(found.acts.as_slice(), [Act(_, Action::Upgrade(0)), _]),
                "seed {seed}: {found:#?}"
            );
            assert_eq!((found.faults.len(), found.deliveries.len()), (0, 0), "seed {seed}");
            assert_eq!(found.clusters[0].control_plane, 1, "seed {seed}");
            shrunk += 1;
        }
        if has_deletion {
            // A failure that needs workers keeps one of them.
            let fails = |script: &Script| {
                script.acts.iter().any(|Act(_, action)| match action {
                    Action::DeleteWorkers(number) => script.clusters[*number].workers > 0,
                    _ => false,
                })
            };
            let found = smallest(&script, fails);
            assert!(!fails(&script) || found.clusters[0].workers == 1, "seed {seed}: {found:#?}");
            cheap += 1;
        }
    }
    assert!(shrunk > 5 && cheap > 5, "{shrunk} and {cheap} seeds had what is asked for");
}

#[test]
fn a_script_of_which_all_is_needed_stays() {
    let script = Script::draw(7);
    let mut tries = 0;
    let found = smallest(&script, |_| {
        tries += 1;
        false
    });
    assert_eq!(found, script);
    assert!(tries > 1 && tries <= 100, "{tries}");
}
