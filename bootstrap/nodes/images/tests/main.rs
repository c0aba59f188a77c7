//! Images of nodes: where they are found, what is refused, and how they are handed on. Only root can unpack them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod archives;
mod checks;
mod find;
mod fixture;
mod make;
