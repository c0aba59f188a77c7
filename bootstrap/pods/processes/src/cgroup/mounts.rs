//! Where the groups of this process are: from `/proc/self/mountinfo` and `/proc/self/cgroup`. Everything here is pure.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::CONTROLLERS;

/// The groups of this process.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Those of memory and of CPU.
    One(Vec<PathBuf>),
    /// The only one, and the top of its tree.
    Two { own: PathBuf, mount: PathBuf },
}

struct Mount<'a> {
    /// The part of the tree that is mounted.
    root: &'a str,
    path: &'a str,
    kind: &'a str,
    options: &'a str,
}

/// Finds the groups; version 1 counts where a machine has both, because the controllers are there.
pub(super) fn find(mounts: &str, own: &str) -> Result<Found> {
    let mounts: Vec<Mount<'_>> = mounts.lines().filter_map(mount).collect();
    let first = CONTROLLERS.map(|controller| {
        let has = |mount: &&Mount<'_>| mount.kind == "cgroup" && lists(mount.options, controller);
        let mount = mounts.iter().find(has)?;
        let path = own.lines().find_map(|line| {
            let (names, path) = line.split_once(':')?.1.split_once(':')?;
            lists(names, controller).then_some(path)
        })?;
        Some(folder(mount, path))
    });
    if let [Some(memory), Some(cpu)] = first {
        let mut folders = vec![memory?, cpu?];
        // Both controllers may be in one tree.
        folders.dedup();
        return Ok(Found::One(folders));
    }
    let mount = mounts.iter().find(|mount| mount.kind == "cgroup2");
    let path = own.lines().find_map(|line| line.strip_prefix("0::"));
    match (mount, path) {
        (Some(mount), Some(path)) => {
            Ok(Found::Two { own: folder(mount, path)?, mount: PathBuf::from(mount.path) })
        }
        _ => bail!("this machine has no control groups of memory and CPU"),
    }
}

fn lists(names: &str, name: &str) -> bool {
    names.split(',').any(|found| found == name)
}

/// Reads a line of mountinfo, as in proc_pid_mountinfo(5).
fn mount(line: &str) -> Option<Mount<'_>> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let mut kind = kind.split(' ');
    Some(Mount { root: place.next()?, path: place.next()?, kind: kind.next()?, options: kind.nth(1)? })
}

fn folder(mount: &Mount<'_>, path: &str) -> Result<PathBuf> {
    // A server in a container may see its own part of the tree only.
    let below = if mount.root == "/" { Some(path) } else { path.strip_prefix(mount.root) };
    let below = below.filter(|below| !below.split('/').any(|part| part == ".."));
    let below = below.with_context(|| format!("the group {path} of this process is not mounted"))?;
    Ok(Path::new(mount.path).join(below.trim_matches('/')))
}
