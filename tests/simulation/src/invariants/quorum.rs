//! Control planes keep their quorum: Machines go one at a time, and no etcd member goes that the others need.

use serde_json::Value;

use super::object::{CONTROL_PLANE, annotation, is_deleting, label, name};
use super::view::{Change, View};

/// Annotation of a control plane Machine whose etcd member has not been removed yet.
const HOOK: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup";

/// Returns a Machine that this change has written, with the Machines of its control plane. None while the control plane is deleted.
fn control_plane<'a>(view: &'a View, change: &Change<'a>) -> Option<(&'a Value, Vec<(&'a str, &'a Value)>)> {
    let machine = change.new.filter(|object| object["kind"] == "Machine")?;
    let control_plane = label(machine, CONTROL_PLANE)?;
    let (_, owner) = view.owner(machine)?;
    let is_going = is_deleting(owner) || view.cluster(machine).is_none_or(is_deleting);
    let all = view.machines(machine, move |other| label(other, CONTROL_PLANE) == Some(control_plane));
    (!is_going).then(|| (machine, all.collect()))
}

fn has_hook(machine: &Value) -> bool {
    annotation(machine, HOOK).is_some()
}

fn has_node(machine: &Value) -> bool {
    machine["status"]["nodeRef"].is_object()
}

/// While a cluster exists, only one control plane Machine is terminated at a time, and none is chosen while another one goes. The user may
/// delete several.
pub(super) fn one_at_a_time(view: &View, change: &Change<'_>) -> Option<String> {
    let (machine, all) = control_plane(view, change)?;
    if !is_deleting(machine) {
        return None;
    }
    let terminated: Vec<&str> = all
        .iter()
        .map(|(_, other)| *other)
        .filter(|other| is_deleting(other) && !has_hook(other))
        .map(name)
        .collect();
    if terminated.len() > 1 && !has_hook(machine) && change.old.is_some_and(has_hook) {
        let (count, names) = (terminated.len(), terminated.join(", "));
        return Some(format!("quorum: {count} control plane Machines go at once: {names}"));
    }
    if change.old.is_some_and(is_deleting) || view.deleted().contains(change.key) {
        return None;
    }
    let chosen = |(key, other): &&(&str, &Value)| {
        is_deleting(other) && *key != change.key && !view.deleted().contains(*key)
    };
    if let Some((_, other)) = all.iter().find(chosen) {
        return Some(format!("quorum: {} was chosen to go while {} goes", name(machine), name(other)));
    }
    let is_initialized = view
        .owner(machine)
        .is_some_and(|(_, owner)| owner["status"]["initialization"]["controlPlaneInitialized"] == true);
    let stays = all.iter().any(|(_, other)| !is_deleting(other) && has_node(other));
    (is_initialized && !stays)
        .then(|| format!("quorum: {} goes, and no control plane Machine with a Node stays", name(machine)))
}

/// An etcd member is removed only if the others have a quorum. The hook goes when the member has gone.
pub(super) fn of_etcd(view: &View, change: &Change<'_>) -> Option<String> {
    let old = change.old.filter(|old| is_deleting(old) && has_hook(old) && has_node(old))?;
    let (machine, all) = control_plane(view, change)?;
    if has_hook(machine) {
        return None;
    }
    let members: Vec<&Value> = all
        .iter()
        .map(|(_, other)| *other)
        .filter(|other| name(other) != name(machine) && has_hook(other) && has_node(other))
        .collect();
    let well = members.iter().filter(|member| !view.is_member_known_to_be_down(member)).count();
    let needed = members.len() / 2 + 1;
    (!members.is_empty() && well < needed && !view.is_disturbed(old)).then(|| {
        format!(
            "quorum: the member of {} was removed, and of the other {} members {well} are healthy, {needed} are needed",
            name(machine),
            members.len()
        )
    })
}
