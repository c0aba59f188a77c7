//! The root folder of a container: a copy of its image's, which only this container may change. It lasts as long as the machine runs: nobody waits
//! until its content is on the disk.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use anyhow::{Context, Result};
use pod_folders::Folder;
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;

/// The folder of the copies of a Pod, in its folder.
pub const ROOTS: &str = "roots";

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
        remove(&unfinished)?;
    }
    let copied = folder(image, &unfinished).and_then(|()| Ok(files::rename(&unfinished, target)?));
    if copied.is_err() {
        remove(&unfinished).ok();
    }
    copied.with_context(|| format!("cannot copy the image to {}", target.display()))
}

/// Removes a copy, which may have folders without the right to write for their owner.
fn remove(copy: &Path) -> Result<()> {
    let cannot = || format!("cannot remove {}", copy.display());
    let (above, name) = copy.parent().zip(copy.file_name()).with_context(cannot)?;
    pod_folders::remove(Folder::open(above)?.as_fd(), name).with_context(cannot)
}

/// Removes the copies in the folders of Pods, which are in `pods`, that were made before the machine's last start, which has the identifier
/// `boot`: if it lost power, they may be damaged. The file `marker` says in which start they were made.
///
/// # Errors
/// The folder cannot be read, or the disk is full. What containers have made there is no error: no container of the Pod gets an older copy,
/// and the others run.
pub fn remove_older(pods: &Path, marker: &Path, boot: &str) -> Result<()> {
    if !boot.is_empty() && fs::read_to_string(marker).is_ok_and(|known| known == boot) {
        return Ok(());
    }
    let cannot = || format!("cannot use {}", pods.display());
    let mut are_removed = true;
    for pod in fs::read_dir(pods).with_context(cannot)? {
        let pod = pod.with_context(cannot)?;
        if !pod.file_type().with_context(cannot)?.is_dir() {
            continue;
        }
        if let Err(error) = remove_of(&pod.path()) {
            tracing::warn!(
                "root folders of containers may be damaged, in {}: {error:#}",
                pod.path().display()
            );
            are_removed = false;
        }
    }
    // Otherwise the next start of the server tries again.
    if are_removed { files::write(marker, 0o600, boot.as_bytes()) } else { Ok(()) }
}

/// Removes the copies of a Pod, or else moves them out of the way: what is left is removed with the Pod.
///
/// # Errors
/// Neither is possible.
fn remove_of(pod: &Path) -> Result<()> {
    let pod = Folder::open(pod)?;
    let Err(error) = pod_folders::remove(pod.as_fd(), ROOTS) else { return Ok(()) };
    let mut number = 1;
    loop {
        match renameat_with(
            pod.as_fd(),
            ROOTS,
            pod.as_fd(),
            format!("{ROOTS}-{number}"),
            RenameFlags::NOREPLACE,
        ) {
            Err(Errno::EXIST) => number += 1,
            Err(_) => return Err(error),
            Ok(()) => {
                tracing::warn!(
                    "older root folders of containers are left until their Pod is deleted: {error:#}"
                );
                return Ok(());
            }
        }
    }
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
