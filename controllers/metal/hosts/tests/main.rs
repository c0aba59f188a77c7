//! The plan of a host, over lives of simulated machines.

mod drive;
mod firmware;
mod life;
mod media;
mod refusals;
mod support;
