//! The whole plane (server, controllers, simulated infrastructure) in one thread under a paused clock, from a seed, with faults.
//!
//! A [`world::World`] outlives processes: it holds what a disk would hold. Each life of the process is a runtime of its own, and a kill
//! drops that runtime with everything in it. [`scenario`] says what a user does, [`invariants`] what must hold at every step.

pub mod fleet;
pub mod invariants;
pub mod manifests;
pub mod parallel;
pub mod requests;
pub mod run;
pub mod scenario;
pub mod world;
