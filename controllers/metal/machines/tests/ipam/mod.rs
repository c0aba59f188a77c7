//! Tests of the IP address manager with a real API server in this process, on a paused clock.

mod claims;
mod kills;
mod lives;
mod many;
mod pool;
mod pool_plan;
