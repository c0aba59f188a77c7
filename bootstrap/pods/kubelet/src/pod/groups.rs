//! The control groups of containers, where this server may make some.

use std::sync::OnceLock;

use anyhow::Result;
use pod_processes::Isolation;
use pod_processes::cgroup::{Cgroups, Group, Limits};

/// The place for control groups. It is looked for when the first container needs one.
#[derive(Default)]
pub(crate) struct Groups(OnceLock<Option<Cgroups>>);

impl Groups {
    /// Makes the group of a container; `None` if it needs none, or this machine does not allow it, which is logged once.
    ///
    /// # Errors
    /// The kernel refuses its limits.
    pub(crate) fn make(&self, limits: &Limits, isolation: Isolation) -> Result<Option<Group>> {
        // The children of a container end with its namespace of processes, and without one with its group.
        if limits.is_empty() && isolation == Isolation::Root {
            return Ok(None);
        }
        let found = self.0.get_or_init(|| match Cgroups::find() {
            Ok(found) => Some(found),
            Err(error) => {
                tracing::warn!("limits of memory and CPU of Pods are not kept: {error:#}");
                None
            }
        });
        found.as_ref().map(|found| found.make(limits)).transpose()
    }
}
