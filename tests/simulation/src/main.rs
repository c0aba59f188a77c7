//! `cargo xtask simulate`: as many seeds as asked, each with a kill somewhere; prints the seed that fails.

use std::process::ExitCode;

use clap::Parser;
use machinery::random::Random;
use simulation::parallel;
use simulation::requests::{Kill, Moment};
use simulation::run::run;
use simulation::scenario::WHOLE_LIFE;

#[derive(Parser)]
#[command(about = "Runs the whole plane from many seeds, each killed once somewhere")]
struct Arguments {
    /// How many seeds.
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 1)]
    from: u64,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let seeds = arguments.from..arguments.from + arguments.seeds;
    let failed = parallel::failures(seeds, |seed| {
        let error = one(seed).err()?;
        report(&format!(
            "seed {seed} failed: {error:#}\nagain: cargo xtask simulate --seeds 1 --from {seed}"
        ));
        Some(error.to_string())
    })
    .len() as u64;
    report(&format!("{} passed, {failed} failed", arguments.seeds - failed));
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Without a kill first, which tells how many writes there are; then with one at a write that the seed chooses.
fn one(seed: u64) -> anyhow::Result<()> {
    let calm = run(seed, WHOLE_LIFE, None)?;
    let random = Random::seeded(seed);
    let moment = if random.number().is_multiple_of(2) { Moment::Before } else { Moment::After };
    let kill = Kill { write: 1 + random.number() % calm.writes.max(1), moment };
    let killed = run(seed, WHOLE_LIFE, Some(kill))?;
    anyhow::ensure!(calm.rests == killed.rests, "{kill:?} leads to another final state");
    Ok(())
}

#[expect(clippy::print_stdout, reason = "this is a command")]
fn report(text: &str) {
    println!("{text}");
}
