//! Tests of the kubeadm configuration, its rendering, and the control plane.

mod addons;
mod bad_input;
mod config;
mod control_plane;
mod ignition;
mod render;
mod whole;
mod workload;
