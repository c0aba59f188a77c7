//! The owner, mode, extended attributes and time of a file.

use std::io;
use std::os::fd::OwnedFd;

use anyhow::{Context, Result};
use rustix::fs::{self, AtFlags, Gid, Mode, OFlags, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::Errno;
use tar::{EntryType, Header};

use crate::extension::Extension;
use crate::store::Contents;

/// What an archive says about a file.
pub(crate) struct Facts<'a> {
    pub(crate) header: &'a Header,
    pub(crate) told: &'a Extension,
    pub(crate) contents: Contents,
}

/// Gives a file its owner, then its mode, and then its capabilities, because the kernel takes away what follows from those that come first.
///
/// # Errors
/// A number is damaged, or the kernel refuses it.
pub(crate) fn set(facts: &Facts<'_>, parent: &OwnedFd, name: &str) -> Result<()> {
    own(facts, parent, name)?;
    let (header, contents) = (facts.header, facts.contents);
    let kind = header.entry_type();
    if kind != EntryType::Symlink {
        let mode = mode(header.mode().context("the mode is no number")?, kind, contents);
        fs::chmodat(parent, name, mode, AtFlags::empty()).context("its mode cannot be set")?;
    }
    if contents == Contents::Processes {
        return Ok(());
    }
    if matches!(kind, EntryType::Regular | EntryType::Continuous | EntryType::Directory) {
        attributes(facts.told, parent, name)?;
    }
    let time = header.mtime().context("its time is no number")?;
    set_time(parent, name, i64::try_from(time).unwrap_or_default())
}

fn mode(bits: u32, kind: EntryType, contents: Contents) -> Mode {
    match contents {
        Contents::System => Mode::from_raw_mode(bits & 0o7777),
        // Set-user-ID programs are not honoured (no_new_privs), so their bits are left out.
        Contents::Processes => {
            let mode = Mode::from_raw_mode(bits & 0o1777);
            // A folder must stay writable for its owner, who adds the files in it, and is perhaps not root.
            if kind == EntryType::Directory { mode | Mode::RWXU } else { mode }
        }
    }
}

/// Sets the owner, which only root can do.
fn own(facts: &Facts<'_>, parent: &OwnedFd, name: &str) -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let number = |number: io::Result<u64>| number.ok().and_then(|number| u32::try_from(number).ok());
    let (header, told) = (facts.header, facts.told);
    let user = told.user.or_else(|| number(header.uid())).context("its owner is no number")?;
    let group = told.group.or_else(|| number(header.gid())).context("its group is no number")?;
    let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
    fs::chownat(parent, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)
        .context("its owner cannot be set")
}

/// Sets the extended attributes that are kept.
fn attributes(told: &Extension, parent: &OwnedFd, name: &str) -> Result<()> {
    for (key, value) in told.attributes.iter().filter(|(key, _)| is_kept_attribute(key)) {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = fs::openat(parent, name, flags, Mode::empty()).context("cannot be opened")?;
        match fs::fsetxattr(&file, key.as_str(), value, XattrFlags::empty()) {
            // The file system of the data directory has none, as container runtimes accept it, too.
            Ok(()) | Err(Errno::OPNOTSUPP) => {}
            Err(error) => {
                return Err(error).with_context(|| format!("its attribute {key} cannot be set"));
            }
        }
    }
    Ok(())
}

/// Returns whether the image of a whole system may bring this extended attribute with it. Those of overlayfs would lead a container past the files of
/// its image, except for the one that hides what is below a folder, which containers inside of a node have; and those of security modules belong to
/// the machine.
pub fn is_kept_attribute(key: &str) -> bool {
    const KEPT: [&str; 4] = [
        "security.capability",
        "system.posix_acl_access",
        "system.posix_acl_default",
        "trusted.overlay.opaque",
    ];
    KEPT.contains(&key) || (key.starts_with("user.") && !key.starts_with("user.overlay."))
}

/// Sets the time of the last change, in seconds since 1970. systemd decides by that of `/usr` whether it is the first start after an update.
///
/// # Errors
/// The kernel refuses it.
pub(crate) fn set_time(parent: &OwnedFd, name: &str, seconds: i64) -> Result<()> {
    let time = Timespec { tv_sec: seconds, tv_nsec: 0 };
    let times = Timestamps { last_access: time, last_modification: time };
    fs::utimensat(parent, name, &times, AtFlags::SYMLINK_NOFOLLOW).context("its time cannot be set")
}
