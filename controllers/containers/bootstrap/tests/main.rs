//! Tests of the crate: what bootstrap data becomes, and what its script does in a folder that stands for a node.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

mod cloud_config;
mod command;
mod configuration;
mod differential;
mod golden;
mod hostile;
mod ignition;
mod kill;
mod node;
mod report;
mod run;
mod template;
mod units;
mod users;
mod whole;
