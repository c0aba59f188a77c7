//! The first process of a balancer's container. It does not become another program: there is none in its root folder.
//!
//! Invariant: what listens to the network is not root, has no capability, and sees no file of this machine but its configuration and its status.
//! There is no `/proc` either, through which a process would find this program, which is that of the server.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Gid, Signal, Uid, set_parent_process_death_signal};
use rustix::thread::{
    CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
    set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};
use system_containers::balancer::FOLDER;

/// The user and the group that own nothing.
const NOBODY: u32 = 65534;
/// The first port that a process without a capability may listen on, of the network of this process.
const PORTS: &str = "/proc/sys/net/ipv4/ip_unprivileged_port_start";

/// Lets any process of this network listen on all ports.
pub(super) fn allow_ports() {
    // Only a port below 1024 needs it, which is refused with its number then.
    fs::write(PORTS, "0").ok();
}

/// Runs the balancer until it is asked to end. The conversation with the supervisor ends when it listens.
///
/// # Errors
/// It cannot give up its rights, its configuration cannot be used, or it cannot listen.
pub(super) fn run(supervisor: &mut Option<UnixStream>) -> Result<()> {
    let opened = node_balancer::open(Path::new(FOLDER))?;
    renounce()?;
    // The kernel has forgotten it with the change of the user.
    set_parent_process_death_signal(Some(Signal::KILL)).context("cannot be bound to the supervisor")?;
    if let Some(supervisor) = &supervisor {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let ended = poll(&mut [PollFd::new(supervisor, PollFlags::IN)], Some(&now));
        ensure!(ended.is_ok_and(|ended| ended == 0), "the supervisor has ended");
    }
    opened.run(|| drop(supervisor.take()))
}

/// Gives up all rights of root, for ever. The process has one thread.
///
/// # Errors
/// The kernel refuses it.
pub fn renounce() -> Result<()> {
    for capability in CapabilitySet::all().iter() {
        // Kernels do not know all of them.
        remove_capability_from_bounding_set(capability).ok();
    }
    let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    set_thread_groups(&[]).context("cannot give up groups")?;
    set_thread_res_gid(group, group, group).context("cannot give up the group")?;
    set_thread_res_uid(user, user, user).context("cannot give up the user")?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, sets).context("cannot give up capabilities")?;
    set_no_new_privs(true).context("cannot renounce new privileges")
}
