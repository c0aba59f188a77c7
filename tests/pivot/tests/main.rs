//! Pivots between servers, with faults of all kinds.

mod additions;
mod bad_input;
mod classes;
mod directory;
mod graphs;
mod hosts;
mod kill;
mod never_both;
mod preflight;
mod running;
mod whole;
