//! `firstlight man-pages`: writes the manual pages, for packages.

use std::path::Path;

use anyhow::{Context, Result};

use crate::cli;

/// Writes a page for the program and one for each command, `firstlight.1`, `firstlight-up.1` and so on, to a directory.
///
/// # Errors
/// The directory cannot be written.
pub fn run(directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
    let written = clap_mangen::generate_to(cli::command(), directory);
    written.with_context(|| format!("cannot write to {}", directory.display()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_command_has_a_page() {
        let folder = tempfile::tempdir().unwrap();
        super::run(folder.path()).unwrap();
        for (name, expected) in [
            ("firstlight.1", "firstlight"),
            ("firstlight-up.1", "filename"),
            ("firstlight-metal-hosts.1", "hosts"),
        ] {
            let page = std::fs::read_to_string(folder.path().join(name)).unwrap();
            assert!(page.starts_with(".") && page.contains(expected), "{name}");
        }
    }
}
