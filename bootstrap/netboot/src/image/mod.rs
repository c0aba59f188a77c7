//! Builds boot images from this program and the site's own kernels: initramfs, unified kernel images, ISO images.

pub mod assets;
pub mod initramfs;
pub mod iso;
pub mod made;
mod modules;
mod pieces;
pub mod program;
pub mod uki;

pub use modules::KernelModules;
pub use pieces::{Piece, Pieces};
