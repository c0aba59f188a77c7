// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! The types of `runtime`.

mod extension_config;
pub use extension_config::*;
