//! The plan of a host, over lives of simulated machines.

mod drive;
mod firmware;
mod life;
mod refusals;
mod support;
