//! What the agent asks of disks, and no safe crate offers: their own ways to erase themselves.
//!
//! [`nvme`] and [`ata`] have what disks are told, over a door that tests put a disk of their own behind. Only the module `call`, a function
//! for each system call, may use `unsafe`.

pub mod ata;
#[allow(unsafe_code, reason = "the only place: docs/decisions/unsafe.md")]
mod call;
pub mod nvme;
