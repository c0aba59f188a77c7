//! Complete lives of a cluster from some seeds, and a short life that is killed at many of its writes.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use simulation::parallel;
use simulation::run::run;
use simulation::scenario::{SHORT_LIFE, TWO_AT_ONCE, WHOLE_LIFE};
use test_plane::requests::{Kill, Moment};

use crate::seeds::number;
use crate::single_failures::assert_same;

/// The number of seeds of a short life. `cargo xtask simulate --thorough` tries 80.
const SEEDS: u64 = 16;
/// The distance of the writes at which a short life is killed. `cargo xtask simulate --thorough` takes every second one.
const STRIDE: u64 = 16;

#[test]
fn a_seed_reproduces_every_request() {
    let first = run(7, WHOLE_LIFE, None).expect("seed 7");
    let second = run(7, WHOLE_LIFE, None).expect("seed 7 again");
    assert_same(&first.trace, &second.trace);
    assert_eq!((first.changes, first.seconds), (second.changes, second.seconds));
}

#[test]
fn the_final_state_does_not_depend_on_the_seed() {
    let seeds = number("SIMULATE_SHORT_LIVES", SEEDS);
    let expected = run(1, SHORT_LIFE, None).expect("seed 1").rests;
    let failures = parallel::failures(2..2 + seeds, |seed| match run(seed, SHORT_LIFE, None) {
        Ok(report) if report.rests == expected => None,
        Ok(_) => Some(format!("seed {seed}: another final state")),
        Err(error) => Some(format!("seed {seed}: {error:#}")),
    });
    assert!(failures.is_empty(), "{} of {seeds} seeds:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn killed_at_writes_it_ends_where_it_would_have_ended() {
    let stride = number("SIMULATE_STRIDE", STRIDE);
    let calm = run(1, SHORT_LIFE, None).expect("seed 1");
    let failures = parallel::failures(1..calm.writes / stride + 1, |number| {
        // Both points of every write would take too long here. `cargo xtask simulate` selects them at random.
        let moment = if number.is_multiple_of(2) { Moment::Before } else { Moment::After };
        let kill = Kill { write: stride * number, moment };
        match run(1, SHORT_LIFE, Some(kill)) {
            Ok(killed) => {
                let differs = killed.rests.iter().zip(&calm.rests).position(|(a, b)| a != b)?;
                Some(format!("{kill:?}: another state at rest after step {differs}"))
            }
            Err(error) => Some(format!("{kill:?}: {error:#}")),
        }
    });
    assert!(failures.is_empty(), "{} of {} kills:\n{}", failures.len(), calm.writes, failures.join("\n"));
}

#[test]
fn two_control_plane_machines_deleted_at_once_go_one_after_the_other() {
    let calm = run(1, TWO_AT_ONCE, None).expect("seed 1");
    // The second half of the writes belongs to the replacement.
    let failures = parallel::failures(1..9, |number| {
        let kill = Kill { write: calm.writes * (8 + number) / 17, moment: Moment::After };
        run(1, TWO_AT_ONCE, Some(kill)).err().map(|error| format!("{kill:?}: {error:#}"))
    });
    assert!(failures.is_empty(), "{} of 8 kills:\n{}", failures.len(), failures.join("\n"));
}
