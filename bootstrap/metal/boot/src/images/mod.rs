//! Builds boot images from this program and the site's own kernels: [`initramfs`], unified kernel images ([`uki`]), ISO images ([`iso`]).
//! [`assets`] are the site's files.

pub mod assets;
pub mod cache;
pub mod initramfs;
pub mod iso;
pub mod modules;
pub mod program;
pub mod uki;

pub use modules::KernelModules;
