//! Tests of the kubeadm configuration, its rendering, and the control plane.

mod addons;
mod bad_input;
mod config;
mod control_plane;
mod etcd;
mod ignition;
mod owned;
mod render;
mod whole;
mod workload;
mod yaml;
