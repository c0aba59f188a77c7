//! System containers as their users know them: a whole Linux with an init of its own, which may be a node of a cluster. [`Runtime`] runs
//! them, [`Images`] has what they are made of, and [`balancer::Balancers`] are what lies before API servers in them. The crate has no I/O:
//! others implement all three.
//!
//! `cargo xtask test system-containers` runs what holds it: the tests of the machines and of the runtime of Docker.

pub mod balancer;
mod finding;
mod images;
pub mod limits;
pub mod program;
mod runtime;
mod spec;

pub use finding::{Finding, Weight};
pub use images::{Image, Images, Report};
pub use runtime::{Captured, Exec, Exit, Runtime, named, run};
pub use spec::{Container, Init, Mount, Spec, State, check_name, is_init};
