//! Tests of the kubeadm configuration, its rendering, and the control plane.

mod addons;
mod config;
mod control_plane;
mod ignition;
mod render;
mod whole;
