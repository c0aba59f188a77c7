//! The volumes of a Pod: `content` computes what is in them, `folder` writes it.

mod content;
mod folder;
mod host_path;

pub use content::{Content, Found, content};
pub use folder::write;
