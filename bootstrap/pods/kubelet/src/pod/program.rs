//! The flags of a container's program, as far as its file shows them.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use container_images::{Config, Root};
use k8s_openapi::api::core::v1::Container;

use crate::limits;

/// How much of the file is looked at in one go, in bytes.
pub const CHUNK: usize = 1 << 20;

/// The program of a container.
pub(super) struct Program<'a> {
    /// The root folder of the container.
    pub(super) root: &'a Path,
    /// The container, which may name the program.
    pub(super) container: &'a Container,
    /// The config of the image, which does otherwise.
    pub(super) image: &'a Config,
}

impl Program<'_> {
    /// Returns whether the program has a flag of this name: its file contains it.
    pub(super) fn contains(&self, flag: &str) -> bool {
        self.file().is_some_and(|file| contains(file, flag.as_bytes()).unwrap_or_default())
    }

    /// Opens it as the container sees it, which may have changed its root folder.
    fn file(&self) -> Option<File> {
        let own = self.container.command.as_ref().filter(|command| !command.is_empty());
        let name = own.unwrap_or(&self.image.entrypoint).first()?;
        let root = Root::open(self.root).ok()?;
        if name.contains('/') {
            return root.file(name).ok()?;
        }
        let path = self.image.environment.iter().find_map(|variable| variable.strip_prefix("PATH="));
        path.unwrap_or_default().split(':').find_map(|folder| root.file(&format!("{folder}/{name}")).ok()?)
    }
}

/// Returns whether a file contains a text.
///
/// # Errors
/// The file cannot be read.
pub fn contains(file: impl Read, text: &[u8]) -> std::io::Result<bool> {
    let mut file = file.take(limits::PROGRAM);
    let mut window = Vec::with_capacity(CHUNK + text.len());
    loop {
        let read = file.by_ref().take(CHUNK as u64).read_to_end(&mut window)?;
        if window.windows(text.len()).any(|part| part == text) {
            return Ok(true);
        }
        if read == 0 {
            return Ok(false);
        }
        // The text may begin in one part and end in the next.
        window.drain(..window.len().saturating_sub(text.len() - 1));
    }
}
