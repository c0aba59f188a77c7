//! What strict decoding objects to, up to a number of problems and of bytes.

use crate::limits::{MAX_DECODE_PROBLEMS, MAX_DECODE_PROBLEMS_TEXT};

/// The paths of fields that are wrong, the first ones.
///
/// Invariant: what is spent on them does not grow with the document: a path can be as long as the document, and there can be as many
/// as it has fields.
#[derive(Debug, Default)]
pub struct Problems {
    paths: Vec<String>,
    bytes: usize,
}

impl Problems {
    /// Whether another one is written down.
    pub fn has_room(&self) -> bool {
        self.paths.len() < MAX_DECODE_PROBLEMS && self.bytes < MAX_DECODE_PROBLEMS_TEXT
    }

    /// Writes down the path that `path` makes, which is not called when there is no more room.
    pub fn note(&mut self, path: impl FnOnce() -> String) {
        if self.has_room() {
            let path = path();
            self.bytes += path.len();
            self.paths.push(path);
        }
    }

    /// As [`Self::note`], once for each path.
    pub fn note_once(&mut self, path: impl FnOnce() -> String) {
        if self.has_room() {
            let path = path();
            self.bytes += path.len();
            if !self.paths.contains(&path) {
                self.paths.push(path);
            }
        }
    }

    /// The paths, in the order in which they were found.
    pub fn into_paths(self) -> Vec<String> {
        self.paths
    }
}
