//! Commands of the program, against servers of their own.

mod backup;
mod image;
mod metal;
mod state;
