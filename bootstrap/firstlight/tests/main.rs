//! Tests of the program's commands, each with its own server.

mod backup;
mod detach;
mod diagnostics;
mod features;
mod image;
mod metal;
mod state;
mod terminal;
