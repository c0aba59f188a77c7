//! Images as others make them, and as attackers would.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod archives;
mod hostile;
mod pulled;
mod system;
mod unpacked;
