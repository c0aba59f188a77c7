//! The root folder of a container: a copy of its image's, which only this container may change. It lasts as long as the machine runs: nobody waits
//! until its content is on the disk.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use anyhow::{Context, Result};

/// The folder of the copies of a Pod, in its folder.
pub const ROOTS: &str = "roots";
/// The file that says in which start of the machine the copies were made.
const BOOT: &str = "boot";

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
    let copied = folder(image, &unfinished).and_then(|()| Ok(files::rename(&unfinished, target)?));
    if copied.is_err() {
        fs::remove_dir_all(&unfinished).ok();
    }
    copied.with_context(|| format!("cannot copy the image to {}", target.display()))
}

/// Removes the copies in `folder` that were made before the machine's last start, which has the identifier `boot`: if it lost power, they may be
/// damaged.
///
/// # Errors
/// A copy cannot be removed, or the disk is full.
pub fn remove_older(folder: &Path, boot: &str) -> Result<()> {
    let known = folder.join(BOOT);
    if !boot.is_empty() && fs::read_to_string(&known).is_ok_and(|known| known == boot) {
        return Ok(());
    }
    let cannot = || format!("cannot use {}", folder.display());
    for pod in fs::read_dir(folder).with_context(cannot)? {
        let roots = pod.with_context(cannot)?.path().join(ROOTS);
        match fs::remove_dir_all(&roots) {
            Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Err(error).with_context(|| format!("cannot remove {}", roots.display()));
            }
            _ => {}
        }
    }
    files::write(&known, 0o600, boot.as_bytes())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_last_until_the_machine_starts_again() {
        let folder = tempfile::tempdir().unwrap();
        let (image, pods) = (folder.path().join("image"), folder.path().join("pods"));
        fs::create_dir_all(image.join("deep")).unwrap();
        fs::write(image.join("deep/program"), "whole").unwrap();
        let (root, volume) = (pods.join("uid").join(ROOTS).join("manager"), pods.join("uid/volumes/v"));
        let start = |boot: &str| {
            remove_older(&pods, boot).unwrap();
            fs::create_dir_all(pods.join("uid").join(ROOTS)).unwrap();
            copy(&image, &root).unwrap();
            fs::read_to_string(root.join("deep/program")).unwrap()
        };
        fs::create_dir_all(&volume).unwrap();
        assert_eq!(start("first"), "whole");
        fs::write(root.join("deep/program"), "changed").unwrap();
        assert_eq!(start("first"), "changed", "a start of the server keeps it");
        assert_eq!(start("second"), "whole");
        fs::write(root.join("deep/program"), "lost").unwrap();
        assert_eq!(start(""), "whole", "nobody knows in which start of the machine it was made");
        assert!(volume.exists());
    }
}
