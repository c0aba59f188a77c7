//! Commands that make disks erase themselves, with simulated disks.

mod ata;
mod devices;
mod nvme;
