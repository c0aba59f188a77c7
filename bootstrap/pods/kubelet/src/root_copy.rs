//! The root folder of a container: a copy of its image's, which only this container may change.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use anyhow::{Context, Result};

/// Copies the root folder of an image. The copy becomes visible at `target` only when it is complete; an existing one is kept.
///
/// # Errors
/// The disk is full, or a folder cannot be read or written.
pub fn copy(image: &Path, target: &Path) -> Result<()> {
    if target.exists() {
        return Ok(());
    }
    let unfinished = target.with_extension("unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).with_context(|| format!("cannot remove {}", unfinished.display()))?;
    }
    let copied = folder(image, &unfinished).and_then(|()| Ok(fs::rename(&unfinished, target)?));
    if copied.is_err() {
        fs::remove_dir_all(&unfinished).ok();
    }
    copied.with_context(|| format!("cannot copy the image to {}", target.display()))
}

fn folder(from: &Path, to: &Path) -> Result<()> {
    use std::os::unix::fs::MetadataExt;

    let is_root = rustix::process::geteuid().is_root();
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let found = fs::symlink_metadata(&source)?;
        if found.is_symlink() {
            symlink(fs::read_link(&source)?, &target)?;
            continue;
        } else if found.is_dir() {
            folder(&source, &target)?;
        } else if found.is_file() {
            fs::copy(&source, &target)?;
        } else {
            continue;
        }
        if is_root {
            chown(&target, Some(found.uid()), Some(found.gid()))?;
        }
        fs::set_permissions(&target, fs::Permissions::from_mode(found.mode() & 0o7777))?;
    }
    Ok(())
}
