//! Tests of `simulated::machine`.

mod failures;
mod plan;
