//! The mounts of a container, in its own namespace: its root folder, the file systems of the kernel, its volumes, and what it was given.
//!
//! The image decides what its paths mean, so each place is opened as the container would see it, and never by a path of this machine.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use anyhow::{Context, Result};
use pod_folders::{Folder as Within, Missing, Root};
use rustix::fs::{FileType, Mode, OFlags, fstat, open, symlinkat};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen,
    mount_change, mount_remount, move_mount, open_tree, unmount,
};

use crate::groups::{Groups, Version};
use crate::own::{Folder, Record};

/// The devices of the machine that a container has. A kubelet reads the messages of the kernel, containers of its Pods may use FUSE, and networks of
/// Pods a device of their own.
const DEVICES: [&str; 9] = ["null", "zero", "full", "random", "urandom", "tty", "kmsg", "fuse", "net/tun"];
/// Links in `/dev`.
const LINKS: [(&str, &str); 5] = [
    ("pts/ptmx", "ptmx"),
    ("/proc/self/fd", "fd"),
    ("/proc/self/fd/0", "stdin"),
    ("/proc/self/fd/1", "stdout"),
    ("/proc/self/fd/2", "stderr"),
];
/// Settings of the kernel that belong to the whole machine, and that a kubelet writes: the container has files of its own instead
/// (`setupKernelTunables` in `pkg/kubelet/cm/container_manager_linux.go`).
const SETTINGS: [&str; 6] = [
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
];
/// Other parts of `/proc` through which root would change this machine.
const READ_ONLY: [&str; 1] = ["sysrq-trigger"];
/// The modules of the kernel.
const MODULES: &str = "/lib/modules";

const HARMLESS: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_NOSUID
    .union(MountAttrFlags::MOUNT_ATTR_NODEV)
    .union(MountAttrFlags::MOUNT_ATTR_NOEXEC);

/// The root of a mount.
struct Mounted(OwnedFd);

/// Mounts everything, and makes the root folder of the container that of this process.
pub(super) fn enter(folder: &Folder, record: &Record, groups: &Groups, terminal: &Path) -> Result<()> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).context("cannot separate the mounts from those of this machine")?;
    let root = overlay(folder, record)?;
    kernel(&root, folder)?;
    devices(&root, terminal)?;
    temporary(&root, "/run", "755")?;
    temporary(&root, "/tmp", "1777")?;
    control_groups(&root, groups)?;
    for (number, volume) in record.spec.volumes.iter().enumerate() {
        given(&root, &folder.volume(number), volume, false)?;
    }
    for file in ["hostname", "hosts", "resolv.conf"] {
        given(&root, &folder.private(file), &format!("/etc/{file}"), false)?;
    }
    if Path::new(MODULES).is_dir() {
        given(&root, Path::new(MODULES), MODULES, true)?;
    }
    for mount in &record.spec.mounts {
        given(&root, &mount.source, &mount.target, mount.read_only)?;
    }
    switch(&root)
}

/// Mounts the image with the changes of the container above it.
fn overlay(folder: &Folder, record: &Record) -> Result<Root> {
    let image = &record.spec.image;
    let cannot = || format!("cannot mount the image {} (overlayfs)", image.display());
    let context = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC).with_context(cannot)?;
    // A colon separates several images.
    let lower = image
        .to_str()
        .context("the path of the image is not UTF-8")?
        .replace('\\', "\\\\")
        .replace(':', "\\:");
    let set = |key: &str, path: &Path| fsconfig_set_string(&context, key, path);
    set("source", Path::new("overlay")).with_context(cannot)?;
    set("lowerdir", Path::new(&lower)).with_context(cannot)?;
    set("upperdir", &folder.upper()).with_context(cannot)?;
    set("workdir", &folder.work()).with_context(cannot)?;
    fsconfig_create(&context).with_context(cannot)?;
    let mounted =
        fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty()).with_context(cannot)?;
    let place = found(&folder.root())?;
    Ok(Root::from(Mounted(mounted).attach(place).with_context(cannot)?.0))
}

/// Mounts `/proc` and `/sys`, and protects what belongs to the machine.
fn kernel(root: &Root, folder: &Folder) -> Result<()> {
    let place = |path: &str| root.place(path, Missing::Folder);
    new("sysfs", &[], HARMLESS)?.attach(place("/sys")?).context("cannot mount /sys")?;
    let proc = new("proc", &[], HARMLESS)?.attach(place("/proc")?).context("cannot mount /proc")?;
    let proc = Within::from(proc.0);
    for name in READ_ONLY {
        let Ok(part) = proc.find(name) else { continue };
        protect(&part).with_context(|| format!("cannot protect /proc/{name}"))?;
    }
    // Of all settings, only those of the network belong to the container.
    let network = clone(proc.find("sys/net")?).context("cannot mount /proc/sys/net")?;
    let settings = Within::from(protect(&proc.find("sys")?).context("cannot protect /proc/sys")?.0);
    network.attach(settings.find("net")?).context("cannot mount /proc/sys/net")?;
    for name in SETTINGS {
        let Ok(setting) = settings.find(name) else { continue };
        let own = folder.private(&name.replace('/', "."));
        let copied = fs::read(Path::new("/proc/sys").join(name)).and_then(|value| fs::write(&own, value));
        copied.with_context(|| format!("cannot copy /proc/sys/{name} to {}", own.display()))?;
        let mounted = clone(found(&own)?).and_then(|file| file.attach(setting));
        mounted.with_context(|| format!("cannot mount {} at /proc/sys/{name}", own.display()))?;
    }
    Ok(())
}

fn devices(root: &Root, terminal: &Path) -> Result<()> {
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID;
    let folder = new("tmpfs", &[("mode", "755")], flags)?.attach(root.place("/dev", Missing::Folder)?);
    let folder = folder.context("cannot mount /dev")?;
    for name in DEVICES {
        let Ok(device) = found(&Path::new("/dev").join(name)) else { continue };
        let place = root.place(&format!("/dev/{name}"), Missing::File)?;
        clone(device)?.attach(place).with_context(|| format!("cannot mount /dev/{name}"))?;
    }
    for (target, name) in LINKS {
        symlinkat(target, &folder.0, name).with_context(|| format!("cannot make the link /dev/{name}"))?;
    }
    let place = |path: &str| root.place(path, Missing::Folder);
    let options = [("ptmxmode", "0666"), ("mode", "620"), ("gid", "5")];
    let quiet = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    new("devpts", &options, quiet)?.attach(place("/dev/pts")?).context("cannot mount /dev/pts")?;
    new("tmpfs", &[("mode", "1777")], HARMLESS)?
        .attach(place("/dev/shm")?)
        .context("cannot mount /dev/shm")?;
    // A kernel without it has no such queues.
    if let Ok(queues) = new("mqueue", &[], HARMLESS) {
        queues.attach(place("/dev/mqueue")?).context("cannot mount /dev/mqueue")?;
    }
    let console = root.place("/dev/console", Missing::File)?;
    clone(found(terminal)?)?.attach(console).map(drop).context("cannot mount /dev/console")
}

fn temporary(root: &Root, path: &str, mode: &str) -> Result<()> {
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let mounted = new("tmpfs", &[("mode", mode)], flags)?.attach(root.place(path, Missing::Folder)?);
    mounted.map(drop).with_context(|| format!("cannot mount {path}"))
}

/// Mounts the control groups, of which this namespace shows the container's own part.
fn control_groups(root: &Root, groups: &Groups) -> Result<()> {
    const TOP: &str = "/sys/fs/cgroup";
    let place = |path: &str| root.place(path, Missing::Folder);
    if groups.version() == Version::Two {
        let mounted = new("cgroup2", &[], HARMLESS)?.attach(place(TOP)?);
        return mounted.map(drop).context("cannot mount the control groups");
    }
    let top = new("tmpfs", &[("mode", "755")], HARMLESS)?
        .attach(place(TOP)?)
        .context("cannot mount a folder for control groups")?;
    for hierarchy in groups.hierarchies().iter().filter(|hierarchy| !hierarchy.is_unified()) {
        let folder = hierarchy.folder();
        let mounted = hierarchy_of_one(&hierarchy.controllers)?.attach(place(&format!("{TOP}/{folder}"))?);
        mounted.with_context(|| format!("cannot mount the control groups of {folder}"))?;
        // A controller that shares its hierarchy with others is found under its own name, too.
        for name in hierarchy.controllers.iter().filter(|name| **name != folder && !name.starts_with("name="))
        {
            symlinkat(&folder, &top.0, name).ok();
        }
    }
    Ok(())
}

fn hierarchy_of_one(controllers: &[String]) -> Result<Mounted> {
    let context = fsopen("cgroup", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&context, "source", "cgroup")?;
    for controller in controllers {
        match controller.strip_prefix("name=") {
            Some(name) => {
                fsconfig_set_flag(&context, "none")?;
                fsconfig_set_string(&context, "name", name)?;
            }
            None => fsconfig_set_flag(&context, controller.as_str())?,
        }
    }
    fsconfig_create(&context)
        .with_context(|| format!("cannot use the control groups of {}", controllers.join(",")))?;
    Ok(Mounted(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, HARMLESS)?))
}

/// Mounts a file or folder of this machine.
fn given(root: &Root, source: &Path, target: &str, is_read_only: bool) -> Result<()> {
    let mount = || -> Result<()> {
        let file = found(source)?;
        let is_folder = FileType::from_raw_mode(fstat(&file)?.st_mode) == FileType::Directory;
        let missing = if is_folder { Missing::Folder } else { Missing::File };
        let mounted = clone(file)?.attach(root.place(target, missing)?)?;
        if is_read_only { mounted.make_read_only() } else { Ok(()) }
    };
    mount().with_context(|| format!("cannot mount {} at {target}", source.display()))
}

/// Opens a path that no container can change.
fn found(path: &Path) -> Result<OwnedFd> {
    open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .with_context(|| format!("cannot open {}", path.display()))
}

/// Makes a file system.
fn new(kind: &str, options: &[(&str, &str)], flags: MountAttrFlags) -> Result<Mounted> {
    let make = || -> Result<Mounted> {
        let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(&context, "source", kind)?;
        for (key, value) in options {
            fsconfig_set_string(&context, *key, *value)?;
        }
        fsconfig_create(&context)?;
        Ok(Mounted(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, flags)?))
    };
    make().with_context(|| format!("cannot make a file system of type {kind}"))
}

/// Makes another mount of a file or folder, with what is mounted below it.
fn clone(source: impl AsFd) -> Result<Mounted> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    Ok(Mounted(open_tree(source, "", flags)?))
}

/// Makes a file or folder read-only, where it is.
fn protect(part: &OwnedFd) -> Result<Mounted> {
    let mounted = clone(part)?.attach(part)?;
    mounted.make_read_only()?;
    Ok(mounted)
}

impl Mounted {
    fn attach(self, target: impl AsFd) -> Result<Self> {
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        move_mount(&self.0, "", target, "", flags)?;
        Ok(self)
    }

    fn make_read_only(&self) -> Result<()> {
        let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
        Ok(mount_remount(format!("/proc/self/fd/{}", self.0.as_raw_fd()), flags, "")?)
    }
}

/// Makes `root` the root folder of this process, and removes all other mounts.
fn switch(root: &Root) -> Result<()> {
    rustix::process::fchdir(root).context("cannot enter the root folder")?;
    // With the same folder for both, the old root lies on top of the new one and is removed from there.
    rustix::process::pivot_root(".", ".").context("cannot change the root folder")?;
    unmount(".", UnmountFlags::DETACH).context("cannot leave the root folder of this machine")?;
    std::env::set_current_dir("/").context("cannot enter the root folder")?;
    // Pods with mount propagation need it, and systemd does it only outside of containers. Nothing of it reaches the machine.
    let shared = MountPropagationFlags::SHARED | MountPropagationFlags::REC;
    mount_change("/", shared).context("cannot share mounts with the containers of Pods")
}
