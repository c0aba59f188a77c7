//! Tests of the tables of types, of columns, defaults and validation, and of protobuf bodies, deeply nested and damaged ones among them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod client_config;
mod columns;
mod damaged_bodies;
mod depth;
mod mutations;
mod policies;
mod protobuf;
mod types;
mod validation;
