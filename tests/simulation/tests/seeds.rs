//! The test of `cargo xtask simulate`: complete lives of a cluster from a number of seeds, each with one
//! kill. It prints the seeds that fail.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test, which says how many seeds passed and ends where something is not as it must be"
)]

use machinery::random::Random;
use simulation::parallel;
use simulation::run::run;
use simulation::scenario::WHOLE_LIFE;
use test_plane::requests::{Kill, Moment};

/// A number in an environment variable.
pub(crate) fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().expect(variable))
}

#[test]
fn a_whole_life_ends_the_same_wherever_it_is_killed() {
    let (seeds, from) = (number("SIMULATE_SEEDS", 2), number("SIMULATE_FROM", 1));
    let failures = parallel::failures(from..from + seeds, |seed| {
        let error = one(seed).err()?;
        Some(format!("seed {seed}: {error:#}\nagain: cargo xtask simulate --seeds 1 --from {seed}"))
    });
    println!("{} of {seeds} seeds passed", seeds - failures.len() as u64);
    assert!(failures.is_empty(), "{} of {seeds} seeds failed:\n{}", failures.len(), failures.join("\n"));
}

/// Runs without a kill to count the writes, then with a kill at a write that depends on the seed.
fn one(seed: u64) -> Result<(), String> {
    let fails = |error| format!("{error:#}");
    let calm = run(seed, WHOLE_LIFE, None).map_err(fails)?;
    let random = Random::seeded(seed);
    let moment = if random.number().is_multiple_of(2) { Moment::Before } else { Moment::After };
    let kill = Kill { write: 1 + random.number() % calm.writes.max(1), moment };
    let killed = run(seed, WHOLE_LIFE, Some(kill)).map_err(|error| format!("{kill:?}: {error:#}"))?;
    if calm.rests == killed.rests { Ok(()) } else { Err(format!("{kill:?} leads to another final state")) }
}
