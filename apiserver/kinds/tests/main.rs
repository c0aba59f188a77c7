//! Tests of the public functions: protobuf bodies, deeply nested and damaged ones among them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod damaged_bodies;
mod depth;
mod protobuf;
