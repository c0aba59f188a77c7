//! Which scenarios of Cluster API's end-to-end specs there are, and which of them are played.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Scenarios that take long, which are played by name or with `--all`.
pub const LONG: [&str; 2] = ["scale", "scale_class"];

/// Returns the scenarios of a folder by name.
///
/// # Errors
/// The folder cannot be read.
pub fn scenarios(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
        let Some(name) = name.filter(|_| path.extension().is_some_and(|end| end == "txt")) else { continue };
        found.push((name, path));
    }
    found.sort();
    Ok(found)
}

/// Returns the scenarios to play: those with these names, or without names all but the long ones.
pub fn chosen(all: Vec<(String, PathBuf)>, names: &[String], also_long: bool) -> Vec<(String, PathBuf)> {
    let is_chosen = |name: &String| {
        if names.is_empty() { also_long || !LONG.contains(&name.as_str()) } else { names.contains(name) }
    };
    all.into_iter().filter(|(name, _)| is_chosen(name)).collect()
}
