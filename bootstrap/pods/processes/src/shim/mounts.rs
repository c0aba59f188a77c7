//! The mounts of a container: its root folder, `/proc`, devices, and what it was told.
//!
//! Other containers that run may change the volumes at the same time. So each place is opened once, by a path that cannot leave the root folder or
//! the volume, and everything after that is done with its descriptor.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use nix::sched::{CloneFlags, unshare};
use pod_folders::{Folder, Missing, Root};
use rustix::fs::{FileType, Mode, OFlags, StatVfsMountFlags, fstat, fstatvfs, open};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags, fsconfig_create, fsmount, fsopen, mount_change, mount_remount, move_mount,
    open_tree, unmount,
};

use crate::instruction::{Instruction, Isolation, Mount};

/// Parts of `/proc` through which root would change this machine; they become read-only, as in other container runtimes.
const READ_ONLY: [&str; 5] = ["bus", "fs", "irq", "sys", "sysrq-trigger"];

/// The root of a mount that is visible in this namespace.
struct Mounted(OwnedFd);

/// Makes the root folder of the container that of this process.
pub(super) fn enter(instruction: &Instruction) -> Result<()> {
    unshare(CloneFlags::CLONE_NEWNS).context("cannot make a namespace of mounts")?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).context("cannot separate the mounts from those of this machine")?;
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
    Ok(Root::from(bind(&folder, &folder)?.0))
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

fn is_folder(file: impl AsFd) -> Result<bool> {
    Ok(FileType::from_raw_mode(fstat(file)?.st_mode) == FileType::Directory)
}

/// Opens a path that no container can change.
fn found(path: &Path) -> Result<OwnedFd> {
    open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .with_context(|| format!("cannot open {}", path.display()))
}

fn bind(source: impl AsFd, target: impl AsFd) -> Result<Mounted> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    Mounted(open_tree(source, "", flags)?).attach(target)
}

impl Mounted {
    fn attach(self, target: impl AsFd) -> Result<Self> {
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        move_mount(&self.0, "", target, "", flags)?;
        Ok(self)
    }

    fn make_read_only(&self) -> Result<()> {
        let mut flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
        // In a user namespace, what the machine has forbidden must stay so.
        if fstatvfs(&self.0)?.f_flag.contains(StatVfsMountFlags::NOEXEC) {
            flags |= MountFlags::NOEXEC;
        }
        Ok(mount_remount(format!("/proc/self/fd/{}", self.0.as_raw_fd()), flags, "")?)
    }
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
    let proc = new_proc().and_then(|proc| proc.attach(place)).context("cannot mount /proc")?;
    // Wherever a link of the container has led: these are parts of this very mount.
    let proc = Folder::from(proc.0);
    for name in READ_ONLY {
        let Ok(part) = proc.find(name) else { continue };
        bind(&part, &part)
            .and_then(|part| part.make_read_only())
            .with_context(|| format!("cannot protect /proc/{name}"))?;
    }
    Ok(())
}

fn new_proc() -> Result<Mounted> {
    let context = fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let forbidden = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NOEXEC
        | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(Mounted(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, forbidden)?))
}

/// Makes `root` the root folder of this process, and removes all other mounts.
fn switch(root: &Root) -> Result<()> {
    rustix::process::fchdir(root).context("cannot enter the root folder")?;
    // With the same folder for both, the old root lies on top of the new one and is removed from there.
    rustix::process::pivot_root(".", ".").context("cannot change the root folder")?;
    unmount(".", UnmountFlags::DETACH).context("cannot leave the root folder of this machine")?;
    std::env::set_current_dir("/").context("cannot enter the root folder")
}
