//! The errors of strict decoding, limited in number and size.

use crate::limits::{MAX_DECODE_PROBLEMS, MAX_DECODE_PROBLEMS_TEXT};

/// The first paths of fields with errors.
///
/// Invariant: their cost does not grow with the document, although a path can be as long as the document and each field
/// can have an error.
#[derive(Debug, Default)]
pub struct Problems {
    paths: Vec<String>,
    bytes: usize,
}

impl Problems {
    /// Returns whether another path will be recorded.
    fn has_room(&self) -> bool {
        self.paths.len() < MAX_DECODE_PROBLEMS && self.bytes < MAX_DECODE_PROBLEMS_TEXT
    }

    /// Records the path that `path` returns. `path` is not called if the limit is reached.
    pub fn note(&mut self, path: impl FnOnce() -> String) {
        if self.has_room() {
            let path = path();
            self.bytes += path.len();
            self.paths.push(path);
        }
    }

    /// Records a path like [`Self::note`], unless it is recorded already.
    pub fn note_once(&mut self, path: impl FnOnce() -> String) {
        if self.has_room() {
            let path = path();
            self.bytes += path.len();
            if !self.paths.contains(&path) {
                self.paths.push(path);
            }
        }
    }

    /// Returns the paths in the order in which they were found.
    pub fn into_paths(self) -> Vec<String> {
        self.paths
    }
}
