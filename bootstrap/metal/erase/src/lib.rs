//! The commands with which disks erase themselves, which no safe crate offers.
//!
//! [`nvme`] and [`ata`] contain the commands, behind interfaces that tests implement with simulated disks. Only the module `call`, with
//! a function for each system call, may use `unsafe`.

pub mod ata;
#[allow(unsafe_code, reason = "the only place: docs/decisions/unsafe.md")]
mod call;
pub mod nvme;
