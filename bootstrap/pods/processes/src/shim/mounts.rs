//! The mounts of a container: its root folder, `/proc`, devices, and what it was told.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use nix::sched::{CloneFlags, unshare};
use pod_folders::{Folder, Missing, Root};
use rustix::fs::fstat;

use crate::instruction::{Instruction, Isolation, Mount};
use crate::mounts::{HARMLESS, Mounted, found, is_folder, protect, separate, switch};

/// Parts of `/proc` through which root would change this machine; they become read-only, as in other container runtimes.
const READ_ONLY: [&str; 5] = ["bus", "fs", "irq", "sys", "sysrq-trigger"];

/// Makes the root folder of the container that of this process.
pub(super) fn enter(instruction: &Instruction) -> Result<()> {
    unshare(CloneFlags::CLONE_NEWNS).context("cannot make a namespace of mounts")?;
    separate()?;
    let root = own_root(&instruction.root)
        .with_context(|| format!("cannot mount {}", instruction.root.display()))?;
    devices(instruction, &root)?;
    processes(instruction, &root)?;
    let mut read_only = Vec::new();
    for given in &instruction.mounts {
        let mounted = given_mount(given, &root).with_context(|| named(given))?;
        if given.read_only {
            read_only.push((given, mounted));
        }
    }
    // At last, because a mount may need a new place in another one.
    for (given, mounted) in &read_only {
        mounted.make_read_only().with_context(|| named(given))?;
    }
    switch(&root)
}

fn named(mount: &Mount) -> String {
    format!("cannot mount {} at {}", mount.path().display(), mount.target)
}

/// Makes a mount of the root folder, which a root folder of a process must be.
fn own_root(path: &Path) -> Result<Root> {
    let folder = found(path)?;
    Ok(Root::from(OwnedFd::from(bind(&folder, &folder)?)))
}

fn given_mount(given: &Mount, root: &Root) -> Result<Mounted> {
    ensure!(!given.target.split('/').any(|part| part == ".."), "the path leads out of the container");
    let source = source(given)?;
    let is_folder = is_folder(&source)?;
    bind(source, root.place(&given.target, if is_folder { Missing::Folder } else { Missing::File })?)
}

/// Opens what is mounted. A part of a volume that does not exist yet becomes a folder with the mode of the volume.
fn source(given: &Mount) -> Result<OwnedFd> {
    let volume = found(&given.source)?;
    if given.below.is_empty() {
        return Ok(volume);
    }
    let mode = fstat(&volume)?.st_mode & 0o7777;
    Folder::from(volume).find_or_make(&given.below, mode)
}

fn bind(source: impl AsFd, target: impl AsFd) -> Result<Mounted> {
    Mounted::copy(source)?.attach(target)
}

fn devices(instruction: &Instruction, root: &Root) -> Result<()> {
    for device in &instruction.devices {
        let mount = || bind(found(Path::new(&device.path))?, root.place(&device.path, Missing::File)?);
        mount().with_context(|| format!("cannot mount {}", device.path))?;
    }
    Ok(())
}

fn processes(instruction: &Instruction, root: &Root) -> Result<()> {
    let place = root.place("/proc", Missing::Folder)?;
    if instruction.isolation == Isolation::UserMounts {
        // Without a namespace of processes of its own, only the existing mount can be shown.
        return found(Path::new("/proc"))
            .and_then(|own| bind(own, place))
            .map(drop)
            .context("cannot mount /proc");
    }
    let proc = Mounted::new("proc", &[], HARMLESS).and_then(|proc| proc.attach(place));
    let proc = proc.context("cannot mount /proc")?;
    // Wherever a link of the container has led: these are parts of this very mount.
    let proc = Folder::from(OwnedFd::from(proc));
    for name in READ_ONLY {
        let Ok(part) = proc.find(name) else { continue };
        protect(&part).with_context(|| format!("cannot protect /proc/{name}"))?;
    }
    Ok(())
}
