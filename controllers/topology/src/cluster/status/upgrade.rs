//! What the condition says about an upgrade.

use std::collections::BTreeSet;

use super::super::hooks::{Blocked, blocking_message};
use super::super::plan::Decision;
use crate::versions::WorkersVersions;

/// At most this many names are listed.
const LISTED: usize = 3;

/// The words about workers of one kind.
struct Workers<'a> {
    kind: &'static str,
    versions: &'a WorkersVersions,
    deferred_reason: &'static str,
    /// Upgrading ones, those that wait for it, and those whose upgrade is deferred. Each name is in one list.
    upgrading: &'a BTreeSet<String>,
    pending: BTreeSet<&'a String>,
    deferred: BTreeSet<&'a String>,
}

impl<'a> Workers<'a> {
    fn new(kind: &'static str, versions: &'a WorkersVersions, deferred_reason: &'static str) -> Self {
        let upgrading = &versions.upgrading;
        let deferred: BTreeSet<&String> = versions.deferred.difference(upgrading).collect();
        let pending = versions.pending_upgrade.iter();
        let pending = pending.filter(|name| !upgrading.contains(*name) && !deferred.contains(name)).collect();
        Self { kind, versions, deferred_reason, upgrading, pending, deferred }
    }

    fn lines(&self, version: &str, plan: &[String]) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.upgrading.is_empty() {
            let names = listed(self.kind, self.upgrading.iter());
            lines.push(format!("{names} upgrading to version {version}{}", then(plan, version)));
        }
        if !self.pending.is_empty() && !plan.is_empty() {
            let names = listed(self.kind, self.pending.iter().copied());
            lines.push(format!("{names} pending upgrade to version {}", plan.join(", ")));
        }
        if !self.deferred.is_empty() {
            let names = listed(self.kind, self.deferred.iter().copied());
            lines.push(format!(
                "{names} upgrade to version {version} deferred using defer-upgrade or hold-upgrade-sequence annotations"
            ));
        }
        if !self.versions.pending_create.is_empty() {
            let names = listed(self.kind, self.versions.pending_create.iter());
            lines.push(format!("{names} creation deferred while control plane upgrade is in progress"));
        }
        lines
    }

    /// Returns whether nothing goes on but the wait for an annotation.
    fn only_waits(&self) -> bool {
        !self.deferred.is_empty() && self.upgrading.is_empty() && self.pending.is_empty()
    }
}

/// Returns reason and message while the parts of a Cluster do not all have its version; `None` if nothing waits.
pub fn message(
    wanted: &str,
    decision: &Decision,
    blocked: &[Blocked],
    control_plane: &str,
    is_hook_pending: bool,
) -> Option<(&'static str, String)> {
    let versions = &decision.versions;
    let plane = &versions.control_plane;
    let is_moving = plane.is_starting || plane.is_upgrading;
    let is_at_rest = versions.machine_deployments.is_at_rest() && versions.machine_pools.is_at_rest();
    if !plane.is_pending && !is_moving && is_at_rest && !is_hook_pending {
        return None;
    }
    let mut lines = Vec::new();
    if !blocked.is_empty() {
        lines.push(blocking_message(blocked, "upgrade"));
    }
    let plan = &decision.plan;
    if is_moving {
        let then = then(&plan.control_plane, &plane.version);
        lines.push(format!("{control_plane} upgrading to version {}{then}", plane.version));
    } else if !plan.control_plane.is_empty() {
        lines.push(format!("{control_plane} pending upgrade to version {}", plan.control_plane.join(", ")));
    }
    let mut reason = "ClusterUpgrading";
    let deployments =
        Workers::new("MachineDeployment", &versions.machine_deployments, "MachineDeploymentsUpgradeDeferred");
    let pools = Workers::new("MachinePool", &versions.machine_pools, "MachinePoolsUpgradeDeferred");
    for workers in [&deployments, &pools] {
        lines.extend(workers.lines(&plane.version, &plan.workers));
        if workers.only_waits() && blocked.is_empty() && !is_moving && reason == "ClusterUpgrading" {
            reason = workers.deferred_reason;
        }
    }
    let lines: String = lines.iter().map(|line| format!("\n  * {line}")).collect();
    Some((reason, format!("Cluster is upgrading to {wanted}{lines}")))
}

/// Returns the versions of the plan that come after `version`.
fn then(plan: &[String], version: &str) -> String {
    let later: Vec<&str> = plan.iter().map(String::as_str).filter(|step| *step != version).collect();
    if later.is_empty() { String::new() } else { format!(" ({} pending)", later.join(", ")) }
}

fn listed<'a>(kind: &str, names: impl Iterator<Item = &'a String>) -> String {
    let names: Vec<&str> = names.map(String::as_str).collect();
    match names.as_slice() {
        [one] => format!("{kind} {one}"),
        all if all.len() <= LISTED => format!("{kind}s {}", all.join(", ")),
        all => format!("{kind}s {}, ... ({} more)", all[..LISTED].join(", "), all.len() - LISTED),
    }
}
