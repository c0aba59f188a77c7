//! Tests of the simulated infrastructure.

mod workload;
