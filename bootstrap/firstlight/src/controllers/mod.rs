//! The controllers of this program: the table of their families, the selection of families that run, and the kinds without a controller.

mod kinds;
mod selection;
mod table;

pub use kinds::{help, is_workload, short_help};
pub use selection::{Selection, start};
pub use table::Context;
