// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! The types of `bootstrap`.

mod cluster_configuration;
mod discovery;
mod environment;
mod kubeadm_config;
mod node_configuration;
mod operating_system;
pub use cluster_configuration::*;
pub use discovery::*;
pub use environment::*;
pub use kubeadm_config::*;
pub use node_configuration::*;
pub use operating_system::*;
