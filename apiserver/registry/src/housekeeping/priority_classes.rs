//! The PriorityClasses that every cluster has.

use futures::future::join_all;
use serde_json::json;

use crate::context::{Context, Input};
use crate::verbs;
use crate::write::writes::Writes;

const CLASSES: [(&str, u64, &str); 2] = [
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
];

/// Creates the classes that are missing.
pub(crate) async fn create(writes: &Writes) {
    let Some(served) = writes.versions().served("scheduling.k8s.io", "v1", "priorityclasses") else { return };
    let served = &served;
    let missing = CLASSES.iter().filter(|(name, ..)| {
        writes.storage().get(&format!("/registry/scheduling.k8s.io/priorityclasses/{name}")).is_none()
    });
    let creating = missing.map(async |(name, value, description)| {
        let class = json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
            "value": value, "description": description,
        });
        let mut context = Context::start("kube-apiserver");
        match verbs::create(writes, &mut context, served, "", Input::new(class)).await {
            Err(status) if status.reason != "AlreadyExists" => {
                tracing::error!(name, %status, "a PriorityClass could not be created");
            }
            _ => {}
        }
    });
    join_all(creating).await;
}
