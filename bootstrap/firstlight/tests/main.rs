//! Commands of the program, against servers of their own.

mod backup;
mod diagnostics;
mod features;
mod image;
mod metal;
mod state;
