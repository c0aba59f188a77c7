//! Tests of data templates with a real API server in this process and the IP address manager, on a paused clock.

mod fixture;
mod kills;
mod lives;
mod rendering;
