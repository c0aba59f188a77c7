//! The mounts of a container, in its own namespace: its root folder, the file systems of the kernel, its volumes, and what it was given.
//!
//! The image decides what its paths mean, so each place is opened as the container would see it, and never by a path of this machine.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use anyhow::{Context, Result};
use pod_folders::{Folder as Within, Missing, Root};
use pod_processes::mounts::{self, HARMLESS, Mounted, found, is_folder, protect, separate};
use rustix::fs::symlinkat;
use rustix::mount::{
    FsOpenFlags, MountAttrFlags, MountPropagationFlags, fsconfig_set_flag, fsconfig_set_string, fsopen,
    mount_change,
};

use crate::containers::{Folder, Record};
use crate::groups::{Groups, Version};

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

/// Mounts everything, and makes the root folder of the container that of this process.
pub(super) fn enter(folder: &Folder, record: &Record, groups: &Groups, terminal: &Path) -> Result<()> {
    separate()?;
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

/// Makes an empty folder the root folder of this process, in which there is nothing but what it was given.
pub(super) fn enter_empty(folder: &Folder, record: &Record) -> Result<()> {
    separate()?;
    let cannot = "cannot mount an empty root folder";
    let options = [("mode", "755"), ("nr_inodes", "64"), ("size", "64k")];
    let place = found(&folder.root())?;
    let mounted = Mounted::new("tmpfs", &options, HARMLESS)?.attach(place).context(cannot)?;
    let root = Root::from(mounted.as_fd().try_clone_to_owned().context(cannot)?);
    for mount in &record.spec.mounts {
        given(&root, &mount.source, &mount.target, mount.read_only)?;
    }
    mounted.make_read_only().context("cannot make the root folder read-only")?;
    mounts::switch(&root)
}

/// Mounts the image with the changes of the container above it.
fn overlay(folder: &Folder, record: &Record) -> Result<Root> {
    let image = Path::new(&record.spec.image);
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
    let mounted = Mounted::of(&context, MountAttrFlags::empty()).with_context(cannot)?;
    let place = found(&folder.root())?;
    Ok(Root::from(OwnedFd::from(mounted.attach(place).with_context(cannot)?)))
}

/// Mounts `/proc` and `/sys`, and protects what belongs to the machine.
fn kernel(root: &Root, folder: &Folder) -> Result<()> {
    let place = |path: &str| root.place(path, Missing::Folder);
    Mounted::new("sysfs", &[], HARMLESS)?.attach(place("/sys")?).context("cannot mount /sys")?;
    let proc = Mounted::new("proc", &[], HARMLESS)?.attach(place("/proc")?).context("cannot mount /proc")?;
    let proc = Within::from(OwnedFd::from(proc));
    for name in READ_ONLY {
        let Ok(part) = proc.find(name) else { continue };
        protect(&part).with_context(|| format!("cannot protect /proc/{name}"))?;
    }
    // Of all settings, only those of the network belong to the container.
    let network = Mounted::copy(proc.find("sys/net")?).context("cannot mount /proc/sys/net")?;
    let settings = protect(&proc.find("sys")?).context("cannot protect /proc/sys")?;
    let settings = Within::from(OwnedFd::from(settings));
    network.attach(settings.find("net")?).context("cannot mount /proc/sys/net")?;
    for name in SETTINGS {
        let Ok(setting) = settings.find(name) else { continue };
        let own = folder.private(&name.replace('/', "."));
        let copied = fs::read(Path::new("/proc/sys").join(name)).and_then(|value| fs::write(&own, value));
        copied.with_context(|| format!("cannot copy /proc/sys/{name} to {}", own.display()))?;
        let mounted = Mounted::copy(found(&own)?).and_then(|file| file.attach(setting));
        mounted.with_context(|| format!("cannot mount {} at /proc/sys/{name}", own.display()))?;
    }
    Ok(())
}

fn devices(root: &Root, terminal: &Path) -> Result<()> {
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID;
    let folder =
        Mounted::new("tmpfs", &[("mode", "755")], flags)?.attach(root.place("/dev", Missing::Folder)?);
    let folder = folder.context("cannot mount /dev")?;
    for name in DEVICES {
        let Ok(device) = found(&Path::new("/dev").join(name)) else { continue };
        let place = root.place(&format!("/dev/{name}"), Missing::File)?;
        Mounted::copy(device)?.attach(place).with_context(|| format!("cannot mount /dev/{name}"))?;
    }
    for (target, name) in LINKS {
        symlinkat(target, &folder, name).with_context(|| format!("cannot make the link /dev/{name}"))?;
    }
    let place = |path: &str| root.place(path, Missing::Folder);
    let options = [("ptmxmode", "0666"), ("mode", "620"), ("gid", "5")];
    let quiet = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    Mounted::new("devpts", &options, quiet)?.attach(place("/dev/pts")?).context("cannot mount /dev/pts")?;
    Mounted::new("tmpfs", &[("mode", "1777")], HARMLESS)?
        .attach(place("/dev/shm")?)
        .context("cannot mount /dev/shm")?;
    // A kernel without it has no such queues.
    if let Ok(queues) = Mounted::new("mqueue", &[], HARMLESS) {
        queues.attach(place("/dev/mqueue")?).context("cannot mount /dev/mqueue")?;
    }
    let console = root.place("/dev/console", Missing::File)?;
    Mounted::copy(found(terminal)?)?.attach(console).map(drop).context("cannot mount /dev/console")
}

fn temporary(root: &Root, path: &str, mode: &str) -> Result<()> {
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let mounted = Mounted::new("tmpfs", &[("mode", mode)], flags)?.attach(root.place(path, Missing::Folder)?);
    mounted.map(drop).with_context(|| format!("cannot mount {path}"))
}

/// Mounts the control groups, of which this namespace shows the container's own part.
fn control_groups(root: &Root, groups: &Groups) -> Result<()> {
    const TOP: &str = "/sys/fs/cgroup";
    let place = |path: &str| root.place(path, Missing::Folder);
    if groups.version() == Version::Two {
        let mounted = Mounted::new("cgroup2", &[], HARMLESS)?.attach(place(TOP)?);
        return mounted.map(drop).context("cannot mount the control groups");
    }
    let top = Mounted::new("tmpfs", &[("mode", "755")], HARMLESS)?
        .attach(place(TOP)?)
        .context("cannot mount a folder for control groups")?;
    for hierarchy in groups.hierarchies().iter().filter(|hierarchy| !hierarchy.is_unified()) {
        let folder = hierarchy.folder();
        let mounted = hierarchy_of_one(&hierarchy.controllers)?.attach(place(&format!("{TOP}/{folder}"))?);
        mounted.with_context(|| format!("cannot mount the control groups of {folder}"))?;
        // A controller that shares its hierarchy with others is found under its own name, too.
        for name in hierarchy.controllers.iter().filter(|name| **name != folder && !name.starts_with("name="))
        {
            symlinkat(&folder, &top, name).ok();
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
    Mounted::of(&context, HARMLESS)
        .with_context(|| format!("cannot use the control groups of {}", controllers.join(",")))
}

/// Mounts a file or folder of this machine.
fn given(root: &Root, source: &Path, target: &str, is_read_only: bool) -> Result<()> {
    let mount = || -> Result<()> {
        let file = found(source)?;
        let missing = if is_folder(&file)? { Missing::Folder } else { Missing::File };
        let mounted = Mounted::copy(file)?.attach(root.place(target, missing)?)?;
        if is_read_only { mounted.make_read_only() } else { Ok(()) }
    };
    mount().with_context(|| format!("cannot mount {} at {target}", source.display()))
}

/// Makes `root` the root folder of this process, and removes all other mounts.
fn switch(root: &Root) -> Result<()> {
    mounts::switch(root)?;
    // Pods with mount propagation need it, and systemd does it only outside of containers. Nothing of it reaches the machine.
    let shared = MountPropagationFlags::SHARED | MountPropagationFlags::REC;
    mount_change("/", shared).context("cannot share mounts with the containers of Pods")
}
