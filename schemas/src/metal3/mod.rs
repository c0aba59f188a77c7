// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! The types of `metal3`.

mod bare_metal_host;
mod bare_metal_host_status;
mod hardware_data;
pub use bare_metal_host::*;
pub use bare_metal_host_status::*;
pub use hardware_data::*;
