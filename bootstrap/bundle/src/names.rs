//! Names of files within archives and bundles.

use anyhow::{Result, ensure};

use crate::limits;

/// Checks a relative path that others may use to make a file, and returns it without `./` and without a slash at its end.
///
/// # Errors
/// The path is empty, absolute or too long, or it leads out of its folder.
pub fn relative(path: &str) -> Result<String> {
    ensure!(path.len() <= limits::PATH, "the path is longer than {} bytes", limits::PATH);
    ensure!(!path.starts_with('/'), "the path is absolute");
    ensure!(!path.contains(['\0', '\\']), "the path contains a backslash or a zero byte");
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    ensure!(!parts.contains(&".."), "the path leads out of its folder");
    ensure!(parts.len() <= limits::PATH_DEPTH, "the path has more than {} parts", limits::PATH_DEPTH);
    Ok(parts.join("/"))
}

/// Returns the path that a symbolic link at `link` with the given target means.
///
/// # Errors
/// The target is absolute, or leads out of the archive.
pub fn linked(link: &str, target: &str) -> Result<String> {
    ensure!(!target.starts_with('/'), "the link leads to the absolute path {target:?}");
    let mut parts: Vec<&str> = link.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => ensure!(parts.pop().is_some(), "the link to {target:?} leads out of the archive"),
            part => parts.push(part),
        }
    }
    relative(&parts.join("/"))
}
