//! Warnings about valid but questionable fields of workloads.

use crate::fields::list;
use crate::pods::warnings::{label_name, template};
use crate::storage::warnings::storage;
use crate::subject::Change;

/// Adds the warnings for a write to `found`.
pub(crate) fn of(change: &Change<'_>, found: &mut Vec<String>) {
    let spec = &change.object["spec"];
    let named = match (change.group, change.kind) {
        ("apps", "Deployment" | "ReplicaSet") | ("", "ReplicationController") => true,
        ("apps", "DaemonSet" | "StatefulSet") => false,
        _ => return,
    };
    if !change.is_of_spec() {
        return;
    }
    if named && change.old.is_none() {
        found.extend(label_name(change.object, "Pod names and hostnames"));
    }
    template(spec, found);
    if change.kind != "StatefulSet" {
        return;
    }
    if spec["revisionHistoryLimit"].as_i64().is_some_and(|limit| limit < 0) {
        found.push(
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
                .into(),
        );
    }
    for (at, claim) in list(spec, "volumeClaimTemplates").iter().enumerate() {
        storage(&claim["spec"], &format!("spec.volumeClaimTemplates[{at}]"), found);
    }
}
