// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! The types of `meta`.

mod condition;
mod reference;
pub use condition::*;
pub use reference::*;
