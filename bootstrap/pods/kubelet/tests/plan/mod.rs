//! Tests of `kubelet::plan`.

mod command;
mod expand;
mod moved_ports;
