//! Processes of containers without a container runtime. [`Process::spawn`] starts this same program again as a shim ([`shim`]), which makes
//! namespaces and mounts, drops to the image's user, and becomes the container's program by `exec`.
//!
//! Invariant: no process outlives the program that started it: the kernel kills each with the thread that waits for it.
//!
//! `cargo xtask test pod-processes` runs what holds it: the tests of the kubelet and the Pods of the program `firstlight`.

pub mod cgroup;
mod detect;
mod exec;
pub mod framed;
mod instruction;
pub mod mounts;
mod process;
pub mod shim;

pub use exec::Exec;
pub use instruction::{Device, Inside, Instruction, Isolation, Mount, Namespaces};
pub use process::{Ended, Output, Process};
pub use shim::user_namespace;
