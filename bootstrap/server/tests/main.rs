//! Tests of the server.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where something is not as it must be"
)]

mod backup;
mod certificates;
mod controllers;
mod data_directory;
mod image_archive;
mod image_reference;
mod leader_election;
mod merge_kubeconfig;
mod netboot;
mod node_choice;
mod nodes;
mod open_files;
mod options;
mod providers;
mod reboot;
mod request_signer;
mod token_keys;
mod webhooks;
