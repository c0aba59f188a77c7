//! The serial console of a machine, which QEMU writes into a file.

use std::path::{Path, PathBuf};

/// How much of the console a failure shows.
const SHOWN_LINES: usize = 60;

/// A console's file. It goes on over all starts of the machine.
#[derive(Clone, Debug)]
pub struct Console(PathBuf);

impl Console {
    /// The console that is written to `file`.
    pub fn new(file: PathBuf) -> Self {
        Self(file)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// All that the machine has written.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.0).unwrap_or_default()).into_owned()
    }

    /// The last lines, for an error. Of what was written over, the last is shown.
    pub fn tail(&self) -> String {
        let text = self.text();
        let shown =
            |line: &'_ str| line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default().to_owned();
        let lines: Vec<String> = text.lines().map(shown).collect();
        lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
    }
}
