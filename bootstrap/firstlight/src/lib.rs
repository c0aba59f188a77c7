//! The parts of the binary: command line, assembly of the process, manifests, live view.

pub mod admission;
pub mod backup;
pub mod certificates;
pub mod cli;
pub mod commands;
pub mod directory;
pub mod envtest;
pub mod handed_over;
pub mod image;
pub mod install;
pub mod inventory;
pub mod logging;
pub mod manifests;
pub mod netboot;
pub mod open_files;
pub mod plane;
pub mod process;
pub mod reboot;
pub mod token_keys;
pub mod tree;
