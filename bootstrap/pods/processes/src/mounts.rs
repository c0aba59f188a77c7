//! Mounts by descriptors. Others may change files at the same time, so each place is opened once, by a path that cannot leave the root folder or
//! the volume, and everything after that is done with its descriptor.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use anyhow::{Context, Result};
use pod_folders::Root;
use rustix::fs::{FileType, Mode, OFlags, StatVfsMountFlags, fstat, fstatvfs, open};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_change,
    mount_remount, move_mount, open_tree, unmount,
};

/// Of a file system without programs, devices, and rights of its files.
pub const HARMLESS: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_NOSUID
    .union(MountAttrFlags::MOUNT_ATTR_NODEV)
    .union(MountAttrFlags::MOUNT_ATTR_NOEXEC);

/// The root of a mount.
#[derive(Debug)]
pub struct Mounted(OwnedFd);

impl Mounted {
    /// Makes a file system, which is not attached yet.
    ///
    /// # Errors
    /// The kernel has no such file system, or does not allow it.
    pub fn new(kind: &str, options: &[(&str, &str)], flags: MountAttrFlags) -> Result<Self> {
        let make = || -> Result<Self> {
            let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
            fsconfig_set_string(&context, "source", kind)?;
            for (key, value) in options {
                fsconfig_set_string(&context, *key, *value)?;
            }
            Self::of(&context, flags)
        };
        make().with_context(|| format!("cannot make a file system of type {kind}"))
    }

    /// Makes a file system from its configuration, which is not attached yet.
    ///
    /// # Errors
    /// The kernel does not allow it.
    pub fn of(context: impl AsFd, flags: MountAttrFlags) -> Result<Self> {
        fsconfig_create(context.as_fd())?;
        Ok(Self(fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, flags)?))
    }

    /// Makes another mount of a file or folder, with what is mounted below it, which is not attached yet.
    ///
    /// # Errors
    /// The kernel does not allow it.
    pub fn copy(source: impl AsFd) -> Result<Self> {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_EMPTY_PATH
            | OpenTreeFlags::AT_RECURSIVE;
        Ok(Self(open_tree(source, "", flags)?))
    }

    /// Attaches the mount to a place.
    ///
    /// # Errors
    /// The kernel does not allow it.
    pub fn attach(self, target: impl AsFd) -> Result<Self> {
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        move_mount(&self.0, "", target, "", flags)?;
        Ok(self)
    }

    /// Makes an attached mount read-only.
    ///
    /// # Errors
    /// The kernel does not allow it.
    pub fn make_read_only(&self) -> Result<()> {
        let mut flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
        // In a user namespace, what the machine has forbidden must stay so.
        if fstatvfs(&self.0)?.f_flag.contains(StatVfsMountFlags::NOEXEC) {
            flags |= MountFlags::NOEXEC;
        }
        Ok(mount_remount(format!("/proc/self/fd/{}", self.0.as_raw_fd()), flags, "")?)
    }
}

impl AsFd for Mounted {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<Mounted> for OwnedFd {
    fn from(mounted: Mounted) -> Self {
        mounted.0
    }
}

/// Opens a path that no container can change.
///
/// # Errors
/// It does not exist.
pub fn found(path: &Path) -> Result<OwnedFd> {
    open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .with_context(|| format!("cannot open {}", path.display()))
}

/// Returns whether a file is a folder.
///
/// # Errors
/// It cannot be read.
pub fn is_folder(file: impl AsFd) -> Result<bool> {
    Ok(FileType::from_raw_mode(fstat(file)?.st_mode) == FileType::Directory)
}

/// Makes a file or folder read-only, where it is.
///
/// # Errors
/// The kernel does not allow it.
pub fn protect(part: &OwnedFd) -> Result<Mounted> {
    let mounted = Mounted::copy(part)?.attach(part)?;
    mounted.make_read_only()?;
    Ok(mounted)
}

/// Lets no mount of this namespace reach that of the machine.
///
/// # Errors
/// The kernel does not allow it.
pub fn separate() -> Result<()> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).context("cannot separate the mounts from those of this machine")
}

/// Makes `root` the root folder of this process, and removes all other mounts.
///
/// # Errors
/// The kernel does not allow it.
pub fn switch(root: &Root) -> Result<()> {
    rustix::process::fchdir(root).context("cannot enter the root folder")?;
    // With the same folder for both, the old root lies on top of the new one and is removed from there.
    rustix::process::pivot_root(".", ".").context("cannot change the root folder")?;
    unmount(".", UnmountFlags::DETACH).context("cannot leave the root folder of this machine")?;
    std::env::set_current_dir("/").context("cannot enter the root folder")
}
