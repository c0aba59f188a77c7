//! The files of a machine, below a root folder.

use std::path::{Path, PathBuf};

/// The files of a machine, below a root folder.
pub struct Files(pub(super) PathBuf);

impl Files {
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// Returns the trimmed text of a file; `None` if the file is missing, unreadable or empty.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        text(&self.path(path))
    }

    pub(crate) fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        std::fs::read(self.path(path)).ok()
    }
}

/// Returns the trimmed text of a file, like [`Files::text`].
pub(crate) fn text(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the names in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}
