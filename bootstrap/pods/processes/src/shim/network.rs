//! The network of a container's Pod.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use nix::sched::{CloneFlags, setns};

use crate::instruction::Namespaces;

/// Enters the network of a Pod.
pub(super) fn join(namespaces: &Namespaces) -> Result<()> {
    let open = |path: &Path| {
        File::open(path).with_context(|| format!("cannot open the Pod's namespace {}", path.display()))
    };
    let network = open(&namespaces.network)?;
    if let Some(user) = &namespaces.user {
        setns(open(user)?, CloneFlags::CLONE_NEWUSER).context("cannot enter the Pod's user namespace")?;
    }
    setns(network, CloneFlags::CLONE_NEWNET).context("cannot enter the Pod's network")
}
