//! Tests of `firstlight::commands::metal`.

mod hosts;
mod plan;
