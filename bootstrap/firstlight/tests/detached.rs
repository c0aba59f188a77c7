//! A folder with the data directories of servers that run in the background.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A folder. Dropping it stops the servers of its data directories, whatever a test found: one that outlived its test would hold the
/// ports of its clusters.
pub struct Folder(TempDir);

impl Folder {
    /// Makes an empty folder.
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Path of the data directory of this name.
    pub fn data(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A panic here would hide that of the test.
        for entry in self.0.path().read_dir().into_iter().flatten().flatten() {
            drop(command(&["stop"], &entry.path()).output());
        }
    }
}

/// Runs a command on a data directory to its end; returns its exit code and what it printed.
pub fn run(arguments: &[&str], data: &Path) -> (Option<i32>, String) {
    let output = command(arguments, data).output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(printed).unwrap())
}

fn command(arguments: &[&str], data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
    command.args(arguments).arg("--data-dir").arg(data);
    command
}
