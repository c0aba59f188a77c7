//! Tests of `dev_machine_pools`.

mod plan;
