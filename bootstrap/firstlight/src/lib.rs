//! The parts of the binary: command line, manifests, plans, live view. What runs is the library `server`.

pub mod cli;
pub mod commands;
pub mod envtest;
pub mod handed_over;
pub mod install;
pub mod limits;
pub mod logging;
pub mod manifests;
pub mod output;
pub mod plan;
pub mod signals;
pub mod simulation;
pub mod target;
pub mod tree;
