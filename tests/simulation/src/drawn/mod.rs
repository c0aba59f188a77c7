//! Simulations with several clusters, whose sizes, users and failures are drawn from a seed.
//!
//! [`script`] says what happens, [`wanted`] what must become of it, and [`crate::invariants`] what must hold at every change. Whatever
//! happens, in the end failures are repaired, every cluster must become as its user wants it, and then nothing must be written any more.

mod actions;
mod classes;
pub mod manifests;
mod progress;
pub mod script;
pub mod shrink;
mod topology;
pub mod user;
pub mod wanted;

use anyhow::{Result, bail, ensure};

use crate::simulation::Simulation;
use progress::Progress;
use script::Script;

/// The result of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Number of writes of the controllers.
    pub writes: u64,
    /// Number of events of watches, if they were counted.
    pub events: u64,
    /// Number of checked changes of objects.
    pub changes: u64,
    /// How often the process was started.
    pub lives: u64,
    /// Simulated time in seconds.
    pub seconds: i64,
    /// Method and path of each write, in order.
    pub trace: Vec<String>,
}

/// Runs what `seed` says.
///
/// # Errors
/// An invariant is violated, or a cluster does not become as wanted. The error contains the seed, and the smallest script that was found to
/// fail with it, which may be for another reason.
#[expect(clippy::print_stdout, reason = "a smaller script is looked for for minutes")]
pub fn run(seed: u64) -> Result<Report> {
    let script = Script::draw(seed);
    play(seed, &script).map_err(|error| {
        println!("seed {seed}: {error:#}\nA smaller script that fails is looked for.");
        let smallest = shrink::smallest(&script, |smaller| play(seed, smaller).is_err());
        let why = play(seed, &smallest).map_or_else(|why| format!("{why:#}"), |_| "passes now".to_owned());
        let (all, left) = (shrink::size(&script), shrink::size(&smallest));
        error.context(format!(
            "seed {seed}: of {all} are enough: {left}: {smallest:#?}: {why}; the whole of it"
        ))
    })
}

/// Plays a script in a simulation with this seed.
///
/// # Errors
/// An invariant is violated, or a cluster does not become as wanted.
pub fn play(seed: u64, script: &Script) -> Result<Report> {
    let mut simulation = Simulation::new(seed);
    script.kills.iter().for_each(|kill| simulation.requests.plan(*kill));
    script.faults.iter().for_each(|(write, fault)| simulation.requests.plan_fault(*write, *fault));
    script
        .deliveries
        .iter()
        .for_each(|(event, delivery)| simulation.requests.plan_delivery(*event, *delivery));
    let began = simulation.now();
    let mut progress = Progress::new(seed, script);
    while !progress.is_complete() {
        let lived = simulation.live(async |life, requests| progress.go_on(life, requests).await);
        if let Err(error) = lived {
            bail!("{}: {error:#}", progress.place());
        }
        ensure!(
            simulation.lives() <= 1 + script.kills.len() as u64,
            "the process was started {} times",
            simulation.lives()
        );
    }
    Ok(Report {
        writes: simulation.requests.writes(),
        events: simulation.requests.events(),
        changes: progress.changes(),
        lives: simulation.lives(),
        seconds: (simulation.now() - began).num_seconds(),
        trace: simulation.requests.trace(),
    })
}
