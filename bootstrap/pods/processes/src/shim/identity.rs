//! The user, the groups and the capabilities of a container's process.

use std::fs;

use anyhow::{Context, Result};
use nix::sched::{CloneFlags, unshare};
use rustix::process::{Gid, Uid, getegid, geteuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
    set_thread_gid, set_thread_groups, set_thread_uid,
};

use crate::instruction::Instruction;

/// The capabilities that a root user in a container keeps: those of container runtimes, without the ones for devices, raw packets and audit.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Enters a new user namespace, in which the user of this process has these numbers of a user and a group.
///
/// # Errors
/// The machine does not allow it, or the process has more than one thread.
pub fn user_namespace(user: u32, group: u32) -> Result<()> {
    let (own_user, own_group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(CloneFlags::CLONE_NEWUSER).context("cannot make a user namespace")?;
    let maps = [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{user} {own_user} 1")),
        ("gid_map", format!("{group} {own_group} 1")),
    ];
    for (file, content) in maps {
        fs::write(format!("/proc/self/{file}"), content)
            .with_context(|| format!("cannot write {file} of the user namespace"))?;
    }
    Ok(())
}

/// Becomes the container's user. Only root can do it.
pub(super) fn become_user(user: u32, group: u32, groups: &[u32]) -> Result<()> {
    let all: Vec<Gid> = groups.iter().map(|group| Gid::from_raw(*group)).collect();
    if user == 0 {
        // The bounding set limits what any later program of this process may get.
        let dropped = CapabilitySet::all().difference(KEPT);
        for capability in dropped.iter() {
            // Kernels do not know all of them.
            remove_capability_from_bounding_set(capability).ok();
        }
    }
    set_thread_groups(&all).context("cannot set the groups")?;
    set_thread_gid(Gid::from_raw(group)).context("cannot become the group of the container")?;
    set_thread_uid(Uid::from_raw(user)).context("cannot become the user of the container")?;
    if user == 0 {
        let kept = CapabilitySets { effective: KEPT, permitted: KEPT, inheritable: CapabilitySet::empty() };
        set_capabilities(None, kept).context("cannot drop capabilities")?;
    }
    Ok(())
}

/// Makes sure that no program of this process gets more privileges, and drops the capabilities of a user namespace.
pub(super) fn renounce(instruction: &Instruction) -> Result<()> {
    set_no_new_privs(true).context("cannot renounce new privileges")?;
    if instruction.isolation.is_user() {
        let none = CapabilitySet::empty();
        let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
        set_capabilities(None, sets).context("cannot drop capabilities")?;
    }
    Ok(())
}
