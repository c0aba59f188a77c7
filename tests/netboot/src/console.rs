//! The serial console of a machine, which QEMU writes into a file.

use std::path::{Path, PathBuf};

/// How many lines of the console a failure shows.
const SHOWN_LINES: usize = 60;

/// The file of a console, which is continued over all starts of the machine.
#[derive(Clone, Debug)]
pub struct Console(PathBuf);

impl Console {
    /// Creates the console that is written to `file`.
    pub fn new(file: PathBuf) -> Self {
        Self(file)
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns everything that the machine has written.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.0).unwrap_or_default()).into_owned()
    }

    /// Returns the last lines, for an error message. Of a line with carriage returns, the last part is shown.
    pub fn tail(&self) -> String {
        let text = self.text();
        let shown =
            |line: &'_ str| line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default().to_owned();
        let lines: Vec<String> = text.lines().map(shown).collect();
        lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
    }
}
