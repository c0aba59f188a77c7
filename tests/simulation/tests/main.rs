//! The whole plane under a paused clock.

mod fleet;
mod ports;
mod seeds;
mod simulation;
