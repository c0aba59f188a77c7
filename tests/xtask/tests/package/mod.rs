//! The parts of packaging.

mod bill;
mod program;
