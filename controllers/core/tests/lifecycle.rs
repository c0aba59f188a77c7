//! A cluster's life against the real API server: create, scale, upgrade, delete. The providers are fakes.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use crate::core::support::Fixture;
use engine::NamespacedName;
use engine::object::{is_deleting, label};
use engine::owners;
use k8s_openapi::api::core::v1::Event;
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine, MachineDeployment, MachinePool, MachineSet};
use schemas::infrastructure::DevMachine;
use serde_json::{Value, json};

pub fn plain(replicas: i32) -> Vec<Value> {
    let reference = |group: &str, kind: &str, name: &str| json!({"apiGroup": format!("{group}.cluster.x-k8s.io"), "kind": kind, "name": name});
    let meta = |name: &str| json!({"name": name, "namespace": "default"});
    let machine = json!({"template": {"spec": {"backend": {"inMemory": {}}}}});
    vec![
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": meta("plain"), "spec": {
            "infrastructureRef": reference("infrastructure", "DevCluster", "plain"),
            "controlPlaneRef": reference("controlplane", "KubeadmControlPlane", "plain-cp"),
        }}),
        json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevCluster", "metadata": meta("plain"),
            "spec": {"backend": {"inMemory": {}}}}),
        json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevMachineTemplate",
            "metadata": meta("plain-md"), "spec": machine}),
        json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane",
            "metadata": meta("plain-cp"), "spec": {"replicas": 1, "version": "v1.35.0",
                "kubeadmConfigSpec": {"joinConfiguration": {"nodeRegistration": {"criSocket": "s"}}}, "machineTemplate": {"spec": {
                "infrastructureRef": reference("infrastructure", "DevMachineTemplate", "plain-cp")}}}}),
        json!({"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfigTemplate",
            "metadata": meta("plain-md"), "spec": {"template": {"spec": {"joinConfiguration": {"nodeRegistration": {"criSocket": "s"}}}}}}),
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment",
        "metadata": {"name": "plain-md", "namespace": "default", "labels": {"cluster.x-k8s.io/cluster-name": "plain"}},
        "spec": {
            "clusterName": "plain", "replicas": replicas,
            "rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}},
            "selector": {"matchLabels": {"cluster.x-k8s.io/cluster-name": "plain", "pool": "plain-md"}},
            "template": {
                "metadata": {"labels": {"cluster.x-k8s.io/cluster-name": "plain", "pool": "plain-md"}},
                "spec": {
                    "clusterName": "plain", "version": "v1.35.0",
                    "bootstrap": {"configRef": reference("bootstrap", "KubeadmConfigTemplate", "plain-md")},
                    "infrastructureRef": reference("infrastructure", "DevMachineTemplate", "plain-md"),
                },
            },
        }}),
    ]
}

fn is_blocked(set: &MachineSet) -> bool {
    set.condition("ScalingUp").is_some_and(|condition| condition.message.contains(" is blocked because:"))
}

pub fn name(name: &str) -> NamespacedName {
    NamespacedName::new("default", name)
}

pub fn is_available(fixture: &Fixture, replicas: i32) -> bool {
    let cluster = fixture.objects::<Cluster>().get(&name("plain"));
    let deployment = fixture.objects::<MachineDeployment>().get(&name("plain-md"));
    let status = deployment.as_ref().and_then(|deployment| deployment.status.clone()).unwrap_or_default();
    let cluster_is = |type_: &str| cluster.as_ref().is_some_and(|cluster| cluster.condition_is_true(type_));
    cluster_is("Available")
        && cluster_is("WorkerMachinesReady")
        && status.available_replicas == Some(replicas)
        && status.up_to_date_replicas == Some(replicas)
        && status.replicas == Some(replicas)
}

#[tokio::test(start_paused = true)]
async fn a_cluster_lives() {
    let fixture = Fixture::start(1).await;
    let start = fixture.manager.clock().monotonic();
    fixture.create(plain(3)).await;
    fixture.until("available", |_| is_available(&fixture, 3)).await;
    let took = fixture.manager.clock().monotonic() - start;
    assert!(took.as_millis() < 500, "nothing waits for a timer: {took:?}");
    check_running(&fixture);
    settle(&fixture, "created").await;

    let deployments = fixture.objects::<MachineDeployment>();
    deployments.merge(&name("plain-md"), None, json!({"spec": {"replicas": 5}})).await.unwrap();
    fixture.until("scaled up", |_| is_available(&fixture, 5)).await;
    deployments.merge(&name("plain-md"), None, json!({"spec": {"replicas": 2}})).await.unwrap();
    fixture.until("scaled down", |_| is_available(&fixture, 2)).await;

    let version = json!({"spec": {"template": {"spec": {"version": "v1.36.0"}}}});
    // The preflight checks block the workers until the control plane is upgraded.
    deployments.merge(&name("plain-md"), None, version).await.unwrap();
    fixture
        .until("blocked", |_| fixture.objects::<MachineSet>().all().iter().any(|set| is_blocked(set)))
        .await;
    let planes = fixture.objects::<schemas::controlplane::KubeadmControlPlane>();
    planes.merge(&name("plain-cp"), None, json!({"spec": {"version": "v1.36.0"}})).await.unwrap();
    fixture
        .until("upgraded", |_| is_available(&fixture, 2) && versions(&fixture) == ["v1.36.0", "v1.36.0"])
        .await;
    fixture.until("old revisions are gone", |_| fixture.objects::<MachineSet>().all().len() == 1).await;
    settle(&fixture, "upgraded").await;
    let events: kube::Api<Event> = kube::Api::default_namespaced(fixture.manager.client().clone());
    let events = events.list(&kube::api::ListParams::default()).await.unwrap().items;
    let blocked = |event: &&Event| event.reason.as_deref() == Some("PreflightCheckFailed");
    let blocked: Vec<&Event> = events.iter().filter(blocked).collect();
    let times = |text: &str| {
        let told = blocked
            .iter()
            .filter(|event| event.message.as_ref().is_some_and(|message| message.contains(text)));
        told.map(|event| (event.type_.as_deref(), event.count)).collect::<Vec<_>>()
    };
    let once = |kind| [(Some(kind), Some(1))];
    assert_eq!(times("MachineSet version is higher"), once("Warning"), "however often it is reconciled");
    assert_eq!(times("is upgrading"), once("Normal"), "this passes");

    let clusters = fixture.objects::<Cluster>();
    let cluster = clusters.get(&name("plain")).unwrap();
    a_pool_belongs_to_its_cluster(&fixture, &cluster).await;
    clusters.delete(cluster.as_ref()).await.unwrap();
    fixture.until("deleted", |_| clusters.get(&name("plain")).is_none()).await;
    assert!(fixture.objects::<Machine>().all().is_empty());
    assert!(fixture.objects::<DevMachine>().all().is_empty());
    assert!(fixture.objects::<MachineSet>().all().is_empty());
    assert_eq!(fixture.objects::<MachineDeployment>().all().len(), 0);
    assert!(fixture.objects::<MachinePool>().all().is_empty());
    fixture.manager.stop().await;
}

/// The Cluster owns MachinePools, and is deleted after them.
async fn a_pool_belongs_to_its_cluster(fixture: &Fixture, cluster: &Cluster) {
    let template = json!({"spec": {"clusterName": "plain", "bootstrap": {"dataSecretName": "x"},
        "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachinePool", "name": "x"}}});
    let pool = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool",
        "metadata": {"name": "plain", "namespace": "default"}, "spec": {"clusterName": "plain", "template": template}});
    fixture.create(vec![pool]).await;
    let pools = fixture.objects::<MachinePool>();
    let owner = engine::object::uid(cluster).to_owned();
    fixture
        .until("owned", |_| {
            let pool = pools.get(&name("plain")).filter(|it| owners::is_owned_by(it.as_ref(), &owner));
            let pool = pool.filter(|it| label(it.as_ref(), engine::names::CLUSTER_NAME) == Some("plain"));
            pool.is_some()
        })
        .await;
}

/// The same seed gives the same history, independent of the load on the machine.
#[test]
fn the_same_seed_gives_the_same_history() {
    let run = || {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let fixture = Fixture::start(7).await;
            fixture.create(plain(2)).await;
            fixture.until("available", |_| is_available(&fixture, 2)).await;
            let machines = fixture.objects::<Machine>().all();
            let facts = machines.iter().map(|machine| {
                (
                    machine.metadata.name.clone(),
                    machine.metadata.resource_version.clone(),
                    machine.metadata.uid.clone(),
                )
            });
            let history = (facts.collect::<Vec<_>>(), reconciles(&fixture));
            fixture.manager.stop().await;
            history
        })
    };
    assert_eq!(run(), run());
}

fn versions(fixture: &Fixture) -> Vec<String> {
    let machines = fixture.objects::<Machine>().all();
    let workers = machines.iter().filter(|machine| !is_control_plane(machine));
    workers.map(|machine| machine.spec.version.clone().unwrap_or_default()).collect()
}

pub fn is_control_plane(machine: &Machine) -> bool {
    engine::object::label(machine, engine::names::CONTROL_PLANE).is_some()
}

fn check_running(fixture: &Fixture) {
    let machines = fixture.objects::<Machine>().all();
    assert_eq!(machines.len(), 4);
    for machine in &machines {
        let status = machine.status.clone().unwrap_or_default();
        assert_eq!(status.phase.as_deref(), Some("Running"), "{:?}", machine.metadata.name);
        assert!(machine.condition_is_true("Ready") && !is_deleting(machine.as_ref()));
    }
    let cluster = fixture.objects::<Cluster>().get(&name("plain")).unwrap();
    let status = cluster.status.clone().unwrap_or_default();
    assert_eq!(status.phase.as_deref(), Some("Provisioned"));
    let workers = status.workers.unwrap_or_default();
    assert_eq!((workers.replicas, workers.available_replicas), (Some(3), Some(3)));
    let order: Vec<&str> = cluster.conditions().iter().map(|condition| condition.type_.as_str()).collect();
    assert_eq!(order.first(), Some(&"Available"));
    assert_eq!(&order[order.len() - 2..], ["Paused", "Deleting"]);
}

/// Checks that no controller writes anything once all objects are settled.
pub async fn settle(fixture: &Fixture, when: &str) {
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let version = |fixture: &Fixture| -> Vec<Option<String>> {
        let machines = fixture.objects::<Machine>().all();
        machines.iter().map(|machine| machine.metadata.resource_version.clone()).collect()
    };
    let before = (version(fixture), reconciles(fixture));
    tokio::time::sleep(std::time::Duration::from_secs(30)).await;
    assert_eq!(before, (version(fixture), reconciles(fixture)), "{when}: something keeps working");
}

fn reconciles(fixture: &Fixture) -> Vec<u64> {
    let metrics = fixture.manager.metrics();
    let controllers = ["cluster", "machine", "machineset", "machinedeployment", "machinehealthcheck"];
    let count =
        |controller: &&'static str| metrics.count(controller, "success") + metrics.count(controller, "error");
    controllers.iter().map(count).collect()
}
