//! Providers are installed, upgraded and deleted, and run as processes.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

mod declared;
mod install;
mod registry;
mod replaced;
mod site;
mod upgrade;
