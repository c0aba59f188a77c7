//! Tests of `container_machines::machine`.

mod failure_domain;
mod plan;
