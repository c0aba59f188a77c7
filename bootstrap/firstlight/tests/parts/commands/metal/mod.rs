//! Tests of `firstlight::parts::commands::metal`.

mod hosts;
mod plan;
