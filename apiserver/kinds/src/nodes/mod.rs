//! Nodes and RuntimeClasses.

mod columns;
pub(crate) mod kinds;
pub(crate) mod labels;
mod node;
mod runtime_class;
