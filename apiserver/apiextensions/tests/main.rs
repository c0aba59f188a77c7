//! Tests of CustomResourceDefinitions and custom objects: recorded verdicts of a real server, and malicious input.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod any_input;
mod conversion;
mod depth;
mod golden_crds;
mod golden_objects;
mod work;
