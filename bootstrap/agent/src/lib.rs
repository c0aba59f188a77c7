//! What runs on a machine that was booted over the network: `/init` of the initramfs that this program packs of itself.

pub mod protocol;
