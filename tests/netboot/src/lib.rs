//! Tests with virtual machines that boot over the network, and the tools that create them.
//!
//! [`lab::Lab`] is an empty network, [`machine::Machine`] a QEMU machine on it, emulated with TCG, since a
//! `/dev/kvm` that can be opened may still not work. Everything lives in the network namespace of the process
//! (`cargo xtask netboot` creates one), so that the host's network is not affected and all leftovers
//! disappear with it.

mod assets;
pub mod calls;
pub mod console;
pub mod dnsmasq;
pub mod elsewhere;
pub mod images;
pub mod ipmi;
pub mod kubernetes;
pub mod lab;
pub mod libvirt;
pub mod lossy;
pub mod machine;
pub mod monitor;
pub mod node;
pub mod outside;
pub mod redfish;
pub mod relay;
pub mod scenario;
pub mod scenarios;
pub mod server;
pub mod wait;
