//! Names of files within archives and bundles.

use anyhow::{Result, ensure};

use crate::limits;

/// Checks a relative path that others may use to make a file, and returns it without `./` and without a slash at its end.
///
/// # Errors
/// The path is empty, absolute or too long, or it leads out of its folder.
pub(crate) fn relative(path: &str) -> Result<String> {
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
pub(crate) fn linked(link: &str, target: &str) -> Result<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_in_their_folder() {
        for (path, expected) in [("a", "a"), ("./a//b/", "a/b"), ("./", ""), ("a..b", "a..b")] {
            assert_eq!(relative(path).unwrap(), expected);
        }
        let deep = |count: usize| vec!["a"; count].join("/");
        assert!(
            relative(&deep(limits::PATH_DEPTH)).is_ok() && relative(&deep(limits::PATH_DEPTH + 1)).is_err()
        );
        let long = |count: usize| "a".repeat(count);
        assert!(relative(&long(limits::PATH)).is_ok() && relative(&long(limits::PATH + 1)).is_err());
        for wrong in ["/a", "a/../b", "..", "a\0", "a\\b"] {
            assert!(relative(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn links_are_resolved_within_the_archive() {
        assert_eq!(linked("a/layer.tar", "../b/layer.tar").unwrap(), "b/layer.tar");
        for wrong in ["/etc/passwd", "../../a", "../../../etc/passwd"] {
            assert!(linked("a/layer.tar", wrong).is_err(), "{wrong:?}");
        }
    }
}
