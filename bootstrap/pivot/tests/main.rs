//! Tests of pivot.

mod comparison;
mod desired;
mod graph;
mod journal;
mod limits;
mod normal;
mod preflight;
mod server;
mod steady;
