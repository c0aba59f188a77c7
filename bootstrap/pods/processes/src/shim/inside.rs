//! The namespaces of a container that runs, which a further program enters.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use nix::sched::{CloneFlags, setns};

use crate::instruction::Inside;

/// The namespaces, open. Their paths are those of this machine, so they are opened before any of them is entered.
pub(super) struct Opened {
    user: Option<File>,
    mounts: File,
}

/// Opens the namespaces.
pub(super) fn open(inside: &Inside) -> Result<Opened> {
    let open = |path: &Path| {
        File::open(path).with_context(|| format!("cannot open the container's namespace {}", path.display()))
    };
    Ok(Opened { user: inside.user.as_deref().map(open).transpose()?, mounts: open(&inside.mounts)? })
}

/// Enters the namespaces; the root folder of this process is that of the container then.
pub(super) fn enter(opened: &Opened) -> Result<()> {
    if let Some(user) = &opened.user {
        setns(user, CloneFlags::CLONE_NEWUSER).context("cannot enter the container's user namespace")?;
    }
    setns(&opened.mounts, CloneFlags::CLONE_NEWNS).context("cannot enter the container's mounts")
}
