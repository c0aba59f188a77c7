//! The controllers of this program: the table of their families, the selection of families that run, and the kinds without a controller.

pub mod kinds;
pub mod selection;
pub mod table;

pub use kinds::{help, short_help, unrun};
pub use selection::{Selection, start};
pub use table::Context;
