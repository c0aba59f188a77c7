//! The controller of each kind that the server serves, and the kinds without a controller.

use engine::GroupKind;

use super::selection::Selection;
use super::table::families;

/// Kinds that a controller of kube-controller-manager turns into Pods, and no controller here.
pub const WORKLOADS: &[GroupKind] = &[
    GroupKind::new("apps", "DaemonSet"),
    GroupKind::new("apps", "StatefulSet"),
    GroupKind::new("batch", "CronJob"),
    GroupKind::new("batch", "Job"),
    GroupKind::new("", "ReplicationController"),
];

/// Kinds that the family `pods` turns into processes.
const PROCESSES: &[GroupKind] =
    &[GroupKind::new("apps", "Deployment"), GroupKind::new("apps", "ReplicaSet"), GroupKind::new("", "Pod")];

/// Returns the warning for a client that creates an object whose Pods would not run; `is_of_provider` returns whether its Namespace is one
/// whose Pods run. If no controllers run here, other programs use this server as they like, for example in tests.
pub fn unrun(
    group: &str,
    kind: &str,
    running: &Selection,
    is_of_provider: impl FnOnce() -> bool,
) -> Option<String> {
    let is_in = |kinds: &[GroupKind]| kinds.iter().any(|known| known.group == group && known.kind == kind);
    let runs_pods = running.names().contains(&"pods");
    if running.is_none() {
        None
    } else if is_in(WORKLOADS) || (is_in(PROCESSES) && !runs_pods) {
        Some(format!("no Pod runs on this server: the {kind} is only stored"))
    } else if is_in(PROCESSES) && !is_of_provider() {
        Some(format!(
            "this server runs the Pods of providers only, in Namespaces with the label {}: the {kind} is only stored",
            engine::names::PROVIDER
        ))
    } else {
        None
    }
}

/// Returns the long help of `--controllers`: the families with their kinds.
pub fn help() -> String {
    let families = families();
    let names: Vec<&str> = families.iter().map(|family| family.name).collect();
    let mut text = format!(
        "Controllers to run: all, none, or a comma-separated list of {}\n\n\
         They reconcile these kinds:\n",
        names.join(", ")
    );
    for family in &families {
        text.push_str(&format!("  {}: {}\n", family.name, family.reconciles()));
    }
    text
}

/// Returns the first line of [`help`].
pub fn short_help() -> String {
    help().lines().next().unwrap_or_default().to_owned()
}

/// Returns the names of kinds, for a message.
pub fn list<'a>(kinds: impl Iterator<Item = &'a GroupKind>) -> String {
    kinds.map(|kind| kind.kind).collect::<Vec<_>>().join(", ")
}
