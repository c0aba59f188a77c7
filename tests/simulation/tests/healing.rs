//! Machines that break by seed, also while the process is killed.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use machinery::random::Random;
use simulation::healing::run;
use simulation::parallel;
use test_plane::requests::{Kill, Moment};

use crate::seeds::number;

/// The number of seeds. `cargo xtask simulate --thorough` tries 400.
const SEEDS: u64 = 6;

#[test]
fn sick_machines_are_replaced_and_healthy_ones_stay() {
    let seeds = number("SIMULATE_HEALING", SEEDS);
    let from = number("SIMULATE_FROM", 1);
    let failures = parallel::failures(from..from + seeds, |seed| {
        let calm = match run(seed, None) {
            Ok(calm) => calm,
            Err(error) => return Some(format!("{error:#}")),
        };
        let random = Random::seeded(seed);
        let moment = if random.number().is_multiple_of(2) { Moment::Before } else { Moment::After };
        let kill = Kill { write: 1 + random.number() % calm.writes.max(1), moment };
        run(seed, Some(kill)).err().map(|error| format!("{error:#}"))
    });
    assert!(failures.is_empty(), "{} of {seeds} seeds:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn machines_do_break_in_this_simulation() {
    let report = run(1, None).expect("seed 1");
    assert!(report.broken > 0 && report.replaced > 0, "{report:?}");
}
