// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! The types of `operator`.

mod addon_provider;
mod bootstrap_provider;
mod control_plane_provider;
mod core_provider;
mod deployment;
mod infrastructure_provider;
mod ipam_provider;
mod manager;
mod provider;
mod runtime_extension_provider;
pub use addon_provider::*;
pub use bootstrap_provider::*;
pub use control_plane_provider::*;
pub use core_provider::*;
pub use deployment::*;
pub use infrastructure_provider::*;
pub use ipam_provider::*;
pub use manager::*;
pub use provider::*;
pub use runtime_extension_provider::*;
