//! Runs the server with controllers and simulated infrastructure in one thread with a paused clock and fault
//! injection. Each run is reproducible from its seed.
//!
//! A [`simulation::Simulation`] has the content of the disk and outlives processes. Each life of the process is a
//! separate runtime, and a kill drops this runtime. The user's actions are in [`scenario`], and the
//! conditions that hold after every change are in [`invariants`].

pub mod drawn;
pub mod fleet;
pub mod healing;
pub mod invariants;
pub mod lifecycles;
pub mod manifests;
pub mod network;
pub mod parallel;
pub mod run;
pub mod scenario;
pub mod simulation;
