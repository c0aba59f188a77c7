//! Writes the content of a volume to a folder of this machine.
//!
//! The files of ConfigMaps, Secrets and tokens are replaced all at once, as by a kubelet: each file is a link into `..data`, which is a link to
//! a folder with all of them, a generation. A reader sees either all old or all new files.
//!
//! Invariant: nothing is written, opened or removed outside of the volume, whatever its containers did to it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use anyhow::{Context, Result};
use pod_folders::{Folder, list, names, remove, type_of};
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, fchmod, fchown, mkdirat, readlinkat, renameat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::{Content, host_path};
use crate::plan::Written;

const DATA: &str = "..data";
/// The beginning of the name of a generation; its number follows.
const GENERATION: &str = "..";

/// Writes the volume `name` into the existing folder `volumes`. `group` is the group of its files (`fsGroup`); only root can set it.
///
/// # Errors
/// The volume cannot be written, or a path of this machine is not what its type says.
pub fn write(volumes: &Path, name: &str, content: &Content, group: Option<u32>) -> Result<Written> {
    let path = volumes.join(name);
    let cannot = || format!("cannot write the volume {}", path.display());
    let group = group.filter(|_| rustix::process::geteuid().is_root()).map(Gid::from_raw);
    let generation = match content {
        Content::Host(host, kind) => {
            let path = host_path::find(host, kind.as_deref(), &path)?;
            return Ok(Written { path, generation: None });
        }
        Content::Empty => {
            empty(&Folder::open(volumes)?, name, group).with_context(cannot)?;
            None
        }
        Content::Files(files) => {
            let folder = Folder::open(volumes)?.make(name, 0o755).with_context(cannot)?;
            Some(replace(&folder, files, group).with_context(cannot)?)
        }
    };
    Ok(Written { path, generation })
}

/// Makes an empty folder. One that exists belongs to its containers, which may have changed its mode.
fn empty(volumes: &Folder, name: &str, group: Option<Gid>) -> Result<()> {
    if type_of(volumes.as_fd(), name)?.is_some() {
        return Ok(());
    }
    let unfinished = format!("..{name}");
    let folder = volumes.make(&unfinished, 0o700)?;
    let opened = list(folder.as_fd(), ".")?;
    if group.is_some() {
        fchown(&opened, None, group)?;
    }
    // As a kubelet's: every user of the Pod may write.
    fchmod(&opened, Mode::from_raw_mode(0o777))?;
    Ok(renameat(volumes, &unfinished, volumes, name)?)
}

/// Returns the name of the newest generation.
fn replace(folder: &Folder, files: &BTreeMap<String, (Vec<u8>, u32)>, group: Option<Gid>) -> Result<String> {
    let old = current(folder);
    let name = match old {
        Some(number) if is_same(folder, &generation(number), files)? => generation(number),
        _ => {
            let name = fresh(folder, old.unwrap_or_default())?;
            for (path, (content, mode)) in files {
                let mut file = folder.create(&format!("{name}/{path}"), 0o600)?;
                file.write_all(content)?;
                if group.is_some() {
                    fchown(&file, None, group)?;
                }
                let group_reads = if group.is_some() { 0o040 } else { 0 };
                fchmod(&file, Mode::from_raw_mode(mode | group_reads))?;
            }
            switch(folder, &name)?;
            name
        }
    };
    visible(folder, files)?;
    for other in names(folder.as_fd())? {
        if number(&other).is_some() && other != *name {
            remove(folder.as_fd(), &other)?;
        }
    }
    Ok(name)
}

fn generation(number: u64) -> String {
    format!("{GENERATION}{number}")
}

fn number(name: &OsStr) -> Option<u64> {
    name.to_str()?.strip_prefix(GENERATION)?.parse().ok()
}

/// Returns the number of the generation that readers see.
fn current(folder: &Folder) -> Option<u64> {
    let target = readlinkat(folder, DATA, Vec::new()).ok()?;
    number(OsStr::new(target.to_str().ok()?))
}

/// Makes the folder of a new generation. Its number is higher than that of the one that readers see, which a start of the server does not change:
/// so the old generation is never taken for the new one when it is removed.
fn fresh(folder: &Folder, newest: u64) -> Result<String> {
    let mut next = newest;
    loop {
        next = next.checked_add(1).context("there are no numbers left for generations")?;
        let name = generation(next);
        match mkdirat(folder, &name, Mode::from_raw_mode(0o755)) {
            Ok(()) => return Ok(name),
            // What a server that was killed did not complete.
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error).context("cannot make a folder"),
        }
    }
}

/// Lets readers see a generation.
fn switch(folder: &Folder, name: &str) -> Result<()> {
    const UNFINISHED: &str = "..data_tmp";
    remove(folder.as_fd(), UNFINISHED)?;
    if type_of(folder.as_fd(), DATA)? == Some(FileType::Directory) {
        remove(folder.as_fd(), DATA)?;
    }
    symlinkat(name, folder, UNFINISHED)?;
    Ok(renameat(folder, UNFINISHED, folder, DATA)?)
}

/// Makes a link for the first part of each path, and removes the other links. Folders are places of mounts in this volume, and stay.
fn visible(folder: &Folder, files: &BTreeMap<String, (Vec<u8>, u32)>) -> Result<()> {
    let wanted: BTreeSet<&str> = files.keys().filter_map(|path| path.split('/').next()).collect();
    for name in names(folder.as_fd())? {
        let is_wanted =
            name.to_str().is_some_and(|name| name.starts_with(GENERATION) || wanted.contains(name));
        if !is_wanted && type_of(folder.as_fd(), &name)? == Some(FileType::Symlink) {
            unlinkat(folder, &name, AtFlags::empty())?;
        }
    }
    for name in wanted {
        match symlinkat(format!("{DATA}/{name}"), folder, name) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error).with_context(|| format!("cannot make the link {name}")),
        }
    }
    Ok(())
}

fn is_same(folder: &Folder, name: &str, files: &BTreeMap<String, (Vec<u8>, u32)>) -> Result<bool> {
    for (path, (content, _)) in files {
        if folder.read(&format!("{name}/{path}"), content.len())?.as_ref() != Some(content) {
            return Ok(false);
        }
    }
    Ok(count(folder.as_fd(), name)? == files.len())
}

/// Returns the number of files below a folder.
fn count(folder: BorrowedFd<'_>, name: impl AsRef<OsStr>) -> Result<usize> {
    let opened = list(folder, name)?;
    let mut total = 0;
    for name in names(opened.as_fd())? {
        let is_folder = type_of(opened.as_fd(), &name)? == Some(FileType::Directory);
        total += if is_folder { count(opened.as_fd(), &name)? } else { 1 };
    }
    Ok(total)
}
