// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! The types of `netboot`.

mod agent;
mod dhcp_lease;
pub use agent::*;
pub use dhcp_lease::*;
