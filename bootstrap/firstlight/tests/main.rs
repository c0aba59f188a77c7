//! Commands of the program, against servers of their own.

mod backup;
mod features;
mod image;
mod metal;
mod state;
