//! Several controllers that want one Machine.

use std::sync::Arc;

use engine::object::uid;
use engine::{Manager, owners};
use schemas::HasConditions;
use schemas::cluster::{Machine, MachineSet};
use serde_json::{Value, json};
use test_plane::{Fixture, get};

use super::rests;
use crate::kubeadm::whole::{GROUPS, create, is_settled, machines, metadata, reference, start};

/// A MachineSet whose selector and template have this label.
pub fn set(name: &str, label: (&str, &str), replicas: i32) -> Value {
    let labels = json!({label.0: label.1});
    json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "metadata": metadata(name), "spec": {
        "clusterName": "c", "replicas": replicas, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"clusterName": "c", "version": "v1.35.0",
            "bootstrap": {"dataSecretName": "s"},
            "infrastructureRef": reference("infrastructure", "DevMachineTemplate", "cp")}}}})
}

fn owned(manager: &Manager, set: &str) -> Vec<Arc<Machine>> {
    let set = get::<MachineSet>(manager, set).unwrap_or_default();
    machines(manager)
        .into_iter()
        .filter(|machine| owners::is_controlled_by(machine.as_ref(), uid(set.as_ref())))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_set_that_selects_control_plane_machines_takes_none() {
    let fixture = Fixture::new(GROUPS, start).await;
    create(&fixture, 1).await;
    fixture.until("available", |manager| is_settled(manager, 1)).await;
    let before = machines(&fixture.manager).remove(0);
    // With no replicas wanted, each Machine of the set would be deleted.
    fixture.create(set("greedy", ("cluster.x-k8s.io/control-plane", ""), 0)).await;
    let is_reconciled = |manager: &Manager| {
        let status = get::<MachineSet>(manager, "greedy").and_then(|set| set.status.clone());
        status.is_some_and(|status| status.replicas == Some(0))
    };
    fixture.until("the set has none", is_reconciled).await;
    rests(&fixture, 0).await;
    let after: Arc<Machine> = get(&fixture.manager, before.metadata.name.as_deref().unwrap()).unwrap();
    assert_eq!(after.metadata.owner_references, before.metadata.owner_references, "its controller stays");
    assert!(after.condition_is_true("Available") && is_settled(&fixture.manager, 1));
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn two_sets_with_one_selector_do_not_share_machines() {
    let fixture = Fixture::new(GROUPS, start).await;
    create(&fixture, 1).await;
    fixture.until("available", |manager| is_settled(manager, 1)).await;
    for name in ["one", "two"] {
        fixture.create(set(name, ("pool", "a"), 2)).await;
    }
    let counts = |manager: &Manager| (owned(manager, "one").len(), owned(manager, "two").len());
    fixture.until("two each", |manager| counts(manager) == (2, 2)).await;
    // A Machine without a controller goes to one of them, which has one too many then.
    let mut orphan = metadata("orphan");
    orphan["labels"]["pool"] = "a".into();
    fixture
        .create(
            json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": orphan, "spec": {
            "clusterName": "c", "version": "v1.35.0", "bootstrap": {"dataSecretName": "s"},
            "infrastructureRef": reference("infrastructure", "DevMachine", "orphan")}}),
        )
        .await;
    fixture
        .until("two each again", |manager| counts(manager) == (2, 2) && machines(manager).len() == 5)
        .await;
    rests(&fixture, 0).await;
    assert_eq!((counts(&fixture.manager), machines(&fixture.manager).len()), ((2, 2), 5));
    for machine in machines(&fixture.manager) {
        let owners = machine.metadata.owner_references.iter().flatten();
        assert!(owners.filter(|owner| owner.controller == Some(true)).count() <= 1);
    }
    fixture.manager.stop().await;
}
