//! What machines and the server say to each other, on the wire and in the initramfs.

mod dhcp;
mod instruction;
mod modules;
