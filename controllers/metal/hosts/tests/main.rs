//! Tests of the plan of a host with simulated machines.

mod drive;
mod firmware;
mod life;
mod media;
mod protection;
mod refusals;
mod support;
