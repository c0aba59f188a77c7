// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! The types of `controlplane`.

mod kubeadm_control_plane;
mod kubeadm_control_plane_template;
pub use kubeadm_control_plane::*;
pub use kubeadm_control_plane_template::*;
