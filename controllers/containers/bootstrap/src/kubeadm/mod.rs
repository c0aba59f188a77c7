//! What a node in a container needs of kubeadm: settings in its configuration, and a flag of its commands.

pub mod command;
pub mod configuration;
