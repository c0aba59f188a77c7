//! Recorded cases against the server, and the parts of the comparison.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where something is not as it must be"
)]

mod compare;
mod known;
mod normalise;
mod paths;
mod read;
mod replay;
mod run;
mod substitute;
mod wait;
