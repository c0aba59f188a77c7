//! MachineSets and Machines get the controller that selects them.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use engine::object::{label, uid};
use engine::{NamespacedName, Objects, owners};
use schemas::cluster::{Machine, MachineDeployment, MachineSet};
use serde_json::{Value, json};

use crate::core::lifecycle::{is_available, is_control_plane, name, plain};
use crate::core::support::Fixture;

/// The MachineSet that the MachineDeployment of the plain cluster would make.
fn alone(replicas: i32, more: Value) -> Value {
    let deployment = plain(replicas).pop().unwrap();
    let mut set = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet",
        "metadata": {"name": "alone", "namespace": "default", "labels": {"pool": "plain-md"}},
        "spec": {"clusterName": "plain", "replicas": replicas, "selector": {"matchLabels": {"pool": "plain-md"}},
            "template": deployment["spec"]["template"]}});
    for (key, value) in more.as_object().unwrap() {
        set["metadata"][key] = value.clone();
    }
    set
}

/// The cluster without its MachineDeployment, and the MachineDeployment with a selector that needs no label of the Cluster.
fn parts(replicas: i32) -> (Vec<Value>, Value) {
    let mut objects = plain(replicas);
    let mut deployment = objects.pop().unwrap();
    deployment["spec"]["selector"] = json!({"matchLabels": {"pool": "plain-md"}});
    (objects, deployment)
}

fn workers(machines: &Objects<Machine>) -> Vec<NamespacedName> {
    let all = machines.all();
    let workers = all.iter().filter(|machine| !is_control_plane(machine));
    workers.map(|machine| NamespacedName::of(machine.as_ref())).collect()
}

fn is_controlled(sets: &Objects<MachineSet>, deployments: &Objects<MachineDeployment>) -> bool {
    let (set, deployment) = (sets.get(&name("alone")), deployments.get(&name("plain-md")));
    set.zip(deployment)
        .is_some_and(|(set, deployment)| owners::is_controlled_by(set.as_ref(), uid(deployment.as_ref())))
}

#[tokio::test(start_paused = true)]
async fn a_set_that_stands_alone_is_adopted_with_its_machines() {
    let fixture = Fixture::start(1).await;
    let (objects, deployment) = parts(2);
    fixture.create(objects).await;
    fixture.create(vec![alone(2, json!({}))]).await;
    let (sets, machines) = (fixture.objects::<MachineSet>(), fixture.objects::<Machine>());
    let available = |set: &MachineSet| set.status.as_ref().and_then(|status| status.available_replicas);
    fixture
        .until("available", |_| sets.get(&name("alone")).is_some_and(|set| available(&set) == Some(2)))
        .await;
    let before = workers(&machines);

    fixture.create(vec![deployment]).await;
    let deployments = fixture.objects::<MachineDeployment>();
    fixture.until("adopted", |_| is_available(&fixture, 2) && is_controlled(&sets, &deployments)).await;
    assert_eq!(sets.all().len(), 1, "it has the same template");
    let all = machines.all();
    let labelled = |machine: &Machine| label(machine, "cluster.x-k8s.io/deployment-name") == Some("plain-md");
    fixture
        .until("labelled", |_| machines.all().iter().filter(|machine| labelled(machine)).count() == 2)
        .await;
    assert_eq!(workers(&machines), before, "no Machine is replaced: {}", all.len());
    fixture.manager.stop().await;
}

/// Its own controller would give the MachineSet the label of its Cluster, but it is paused.
#[tokio::test(start_paused = true)]
async fn a_set_without_the_label_of_its_cluster_is_adopted() {
    let fixture = Fixture::start(1).await;
    let (objects, deployment) = parts(2);
    fixture.create(objects).await;
    fixture.create(vec![alone(0, json!({"annotations": {"cluster.x-k8s.io/paused": ""}})), deployment]).await;
    let (sets, deployments) = (fixture.objects::<MachineSet>(), fixture.objects::<MachineDeployment>());
    fixture.until("adopted", |_| is_controlled(&sets, &deployments)).await;
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_belongs_to_the_set_that_selects_it() {
    let fixture = Fixture::start(1).await;
    fixture.create(plain(2)).await;
    fixture.until("available", |_| is_available(&fixture, 2)).await;
    let (sets, machines) = (fixture.objects::<MachineSet>(), fixture.objects::<Machine>());
    let set = sets.all().remove(0);
    let one = workers(&machines).remove(0);
    let is_ours =
        || machines.get(&one).is_some_and(|it| owners::is_controlled_by(it.as_ref(), uid(set.as_ref())));

    machines.merge(&one, None, json!({"metadata": {"ownerReferences": null}})).await.unwrap();
    fixture.until("adopted again", |_| is_ours()).await;
    assert_eq!(workers(&machines).len(), 2, "none was made in between");

    // Without the label, the Machine keeps its owner and its objects, but another one takes its place.
    machines.merge(&one, None, json!({"metadata": {"labels": {"pool": null}}})).await.unwrap();
    fixture.until("replaced", |_| workers(&machines).len() == 3 && is_available(&fixture, 2)).await;
    assert!(is_ours() && label(machines.get(&one).unwrap().as_ref(), "pool").is_none());
    machines.merge(&one, None, json!({"metadata": {"labels": {"pool": "plain-md"}}})).await.unwrap();
    fixture.until("one too many", |_| workers(&machines).len() == 2 && is_available(&fixture, 2)).await;
    fixture.manager.stop().await;
}
