//! The controllers of this program: the table of all of them, which of them run, and what follows for the kinds that are served.

mod kinds;
mod selection;
mod table;

pub use kinds::{help, short_help, unimplemented};
pub use selection::{Selection, start};
pub use table::Context;
