//! Tests of the plan of a host with simulated machines.

mod drive;
mod firmware;
mod life;
mod media;
mod refusals;
mod support;
