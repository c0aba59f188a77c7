//! The mounts of a container: its root folder, `/proc`, devices, and what it was told.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use nix::sched::{CloneFlags, unshare};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};

use crate::instruction::{Instruction, Isolation};

/// Parts of `/proc` through which root would change this machine; they become read-only, as in other container runtimes.
const READ_ONLY: [&str; 5] = ["bus", "fs", "irq", "sys", "sysrq-trigger"];

/// Makes the root folder of the container that of this process.
pub(super) fn enter(instruction: &Instruction) -> Result<()> {
    unshare(CloneFlags::CLONE_NEWNS).context("cannot make a namespace of mounts")?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).context("cannot separate the mounts from those of this machine")?;
    let root = &instruction.root;
    bind(root, root).with_context(|| format!("cannot mount {}", root.display()))?;
    let target = |path: &str| within(root, path);
    devices(instruction, &target("/dev")?)?;
    processes(instruction, &target("/proc")?)?;
    for given in &instruction.mounts {
        let named = || format!("cannot mount {} at {}", given.source.display(), given.target);
        let target = target(&given.target).with_context(named)?;
        place(&given.source, &target).with_context(named)?;
        bind(&given.source, &target).with_context(named)?;
        if given.read_only {
            make_read_only(&target).with_context(named)?;
        }
    }
    switch(root)
}

/// Returns the path of a container's path on this machine. No part of it may be a link, which could lead out of the root folder.
fn within(root: &Path, path: &str) -> Result<PathBuf> {
    let mut found = root.to_owned();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        ensure!(part != "..", "the path {path} leads out of the container");
        found.push(part);
        let is_link = fs::symlink_metadata(&found).is_ok_and(|found| found.is_symlink());
        if is_link {
            found = linked(root, &found).with_context(|| format!("the path {path} cannot be resolved"))?;
        }
    }
    Ok(found)
}

/// Resolves one link of an image within its root folder, as `/var/run`, which often leads to `/run`.
fn linked(root: &Path, link: &Path) -> Result<PathBuf> {
    let target = fs::read_link(link)?;
    let parent = link.parent().and_then(|parent| parent.strip_prefix(root).ok()).unwrap_or(Path::new(""));
    let mut parts: Vec<_> = if target.is_absolute() { Vec::new() } else { parent.components().collect() };
    for part in target.components() {
        match part {
            std::path::Component::Normal(_) => parts.push(part),
            std::path::Component::ParentDir => drop(parts.pop()),
            _ => {}
        }
    }
    let found: PathBuf = root.join(parts.iter().collect::<PathBuf>());
    let mut above = root.to_owned();
    for part in &parts {
        above.push(part);
        let is_link = fs::symlink_metadata(&above).is_ok_and(|found| found.is_symlink());
        ensure!(!is_link, "{} is a link to another link", link.display());
    }
    Ok(found)
}

/// Makes an empty file or folder on which something is mounted.
fn place(source: &Path, target: &Path) -> Result<()> {
    if fs::metadata(source)?.is_dir() {
        return fs::create_dir_all(target).context("cannot make the folder");
    }
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent).context("cannot make the folder")?;
    }
    if !target.exists() {
        File::create(target).context("cannot make the file")?;
    }
    Ok(())
}

fn bind(source: &Path, target: &Path) -> Result<()> {
    Ok(mount_bind_recursive(source, target)?)
}

fn make_read_only(target: &Path) -> Result<()> {
    let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
    Ok(mount_remount(target, flags, "")?)
}

fn devices(instruction: &Instruction, target: &Path) -> Result<()> {
    fs::create_dir_all(target).context("cannot make /dev")?;
    for device in &instruction.devices {
        let place = within(&instruction.root, &device.path)?;
        self::place(Path::new(&device.path), &place)
            .and_then(|()| bind(Path::new(&device.path), &place))
            .with_context(|| format!("cannot mount {}", device.path))?;
    }
    Ok(())
}

fn processes(instruction: &Instruction, target: &Path) -> Result<()> {
    fs::create_dir_all(target).context("cannot make /proc")?;
    if instruction.isolation == Isolation::UserMounts {
        // Without a namespace of processes of its own, only the existing mount can be shown.
        return bind(Path::new("/proc"), target).context("cannot mount /proc");
    }
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC | MountFlags::NODEV;
    mount("proc", target, "proc", flags, None).context("cannot mount /proc")?;
    for name in READ_ONLY {
        let path = target.join(name);
        if path.exists() {
            bind(&path, &path)
                .and_then(|()| make_read_only(&path))
                .with_context(|| format!("cannot protect /proc/{name}"))?;
        }
    }
    Ok(())
}

/// Makes `root` the root folder of this process, and removes all other mounts.
fn switch(root: &Path) -> Result<()> {
    std::env::set_current_dir(root).context("cannot enter the root folder")?;
    // With the same folder for both, the old root lies on top of the new one and is removed from there.
    rustix::process::pivot_root(".", ".").context("cannot change the root folder")?;
    unmount(".", UnmountFlags::DETACH).context("cannot leave the root folder of this machine")?;
    std::env::set_current_dir("/").context("cannot enter the root folder")
}
