// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! The types of `metal3`.

mod bare_metal_host;
mod bare_metal_host_status;
mod bmc_event_subscription;
mod data_image;
mod firmware;
mod hardware_data;
mod host_claim;
mod preprovisioning_image;
pub use bare_metal_host::*;
pub use bare_metal_host_status::*;
pub use bmc_event_subscription::*;
pub use data_image::*;
pub use firmware::*;
pub use hardware_data::*;
pub use host_claim::*;
pub use preprovisioning_image::*;
