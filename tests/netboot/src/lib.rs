//! Real machines, virtual: the kit that makes them, and the tests that boot them.
//!
//! [`lab::Lab`] is a network with nothing on it, [`machine::Machine`] a QEMU machine on it, under TCG: a `/dev/kvm` that opens may still
//! not work. Everything lives in the network namespace of the process (`cargo xtask netboot` makes one), so that nothing of the host's
//! network is touched, and what is left over ends with it.

mod assets;
pub mod calls;
pub mod console;
pub mod dnsmasq;
pub mod elsewhere;
pub mod images;
pub mod ipmi;
pub mod lab;
pub mod libvirt;
pub mod lossy;
pub mod machine;
pub mod monitor;
pub mod redfish;
pub mod relay;
pub mod scenario;
pub mod scenarios;
pub mod server;
pub mod wait;
