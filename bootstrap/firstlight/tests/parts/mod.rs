//! The parts of the program that decide without doing: tables, plans, parsers, and what is drawn.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where something is not as it must be"
)]

mod backup;
mod certificates;
mod cli;
mod commands;
mod controllers;
mod data_directory;
mod envtest;
mod handed_over;
mod image;
mod install;
mod leader_election;
mod logging;
mod manifests;
mod netboot;
mod nodes;
mod open_files;
mod options;
mod providers;
mod reboot;
mod token_keys;
mod tree;
mod webhooks;
