//! What the agent asks of disks and of the kernel, and no safe crate offers: a disk's own ways to erase itself, and starting another kernel.
//!
//! [`nvme`] and [`ata`] have what disks are told, over a door that tests put a disk of their own behind; [`kexec`] has the kernel's part.
//! Only the module `call`, a function for each system call, may use `unsafe`.

pub mod ata;
#[allow(unsafe_code, reason = "the only place: docs/decisions/unsafe.md")]
mod call;
pub mod kexec;
pub mod nvme;
