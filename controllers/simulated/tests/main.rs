//! Tests of the simulated infrastructure.

mod machine;
mod workload;
