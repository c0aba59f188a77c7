//! Tests of the types, their defaults and rules, and of the conversion between versions.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod addresses;
mod admission;
mod bmc_address;
mod container_linux;
mod contract;
mod conversion;
mod coredns;
mod empty;
mod int_value;
mod naming;
mod reboot;
mod recorded;
mod round_trip;
#[path = "../templates/tests/main.rs"]
mod templates;
mod version;
