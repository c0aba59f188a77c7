//! Several controllers that want one Machine.

use std::sync::Arc;
use std::time::Duration;

use engine::object::{label, uid};
use engine::{Manager, NamespacedName, owners};
use schemas::HasConditions;
use schemas::cluster::{Machine, MachineSet};
use schemas::infrastructure::{DevMachine, DevMachinePool};
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

#[tokio::test(start_paused = true)]
async fn a_machine_of_a_pool_that_lost_its_owner_is_adopted_again() {
    let fixture = Fixture::new(GROUPS, start).await;
    create(&fixture, 1).await;
    fixture.until("available", |manager| is_settled(manager, 1)).await;
    let (bootstrap, infrastructure) =
        ("bootstrap.cluster.x-k8s.io/v1beta2", "infrastructure.cluster.x-k8s.io/v1beta2");
    let objects = [
        json!({"apiVersion": bootstrap, "kind": "KubeadmConfig", "metadata": metadata("p"), "spec": {"verbosity": 2}}),
        json!({"apiVersion": infrastructure, "kind": "DevMachinePool", "metadata": metadata("p"),
            "spec": {"backend": {"inMemory": {}}}}),
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool", "metadata": metadata("p"), "spec": {
            "clusterName": "c", "replicas": 1, "template": {"spec": {"clusterName": "c", "version": "v1.35.0",
                "bootstrap": {"configRef": reference("bootstrap", "KubeadmConfig", "p")},
                "infrastructureRef": reference("infrastructure", "DevMachinePool", "p")}}}}),
    ];
    for object in objects {
        fixture.create(object).await;
    }
    let of_pool = |manager: &Manager| {
        let all = manager.objects::<DevMachine>().by_cluster(&NamespacedName::new("default", "c"));
        let is_of_pool =
            |machine: &Arc<DevMachine>| label(machine.as_ref(), "cluster.x-k8s.io/pool-name").is_some();
        all.into_iter().filter(is_of_pool).collect::<Vec<_>>()
    };
    let is_up = |manager: &Manager| {
        machines(manager).len() == 2
            && machines(manager).iter().all(|machine| machine.condition_is_true("Ready"))
    };
    fixture.until("the machine of the pool is ready", is_up).await;
    let before = of_pool(&fixture.manager).remove(0);
    let name = before.metadata.name.clone().unwrap();
    let pool = owners::find(before.as_ref(), DevMachinePool::GROUP, DevMachinePool::KIND).unwrap().clone();
    let mut old = serde_json::to_value(&pool).unwrap();
    old["apiVersion"] = "infrastructure.cluster.x-k8s.io/v1alpha1".into();
    for lost in [json!(null), json!([old])] {
        fixture.patch::<DevMachine>(&name, json!({"metadata": {"ownerReferences": lost}})).await;
        let is_owned = |manager: &Manager| {
            let found = get::<DevMachine>(manager, &name).unwrap_or_default();
            found.metadata.owner_references.iter().flatten().any(|owner| *owner == pool)
        };
        fixture.until("it is owned again", is_owned).await;
        fixture.until("it is ready", is_up).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        let uids: Vec<_> =
            of_pool(&fixture.manager).iter().map(|machine| uid(machine.as_ref()).to_owned()).collect();
        assert_eq!(uids, [uid(before.as_ref())]);
    }
    fixture.manager.stop().await;
}
