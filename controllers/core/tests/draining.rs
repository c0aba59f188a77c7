//! Machines are deleted while Pods run on their Nodes, against real API servers.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use engine::NamespacedName;
use k8s_openapi::api::core::v1::{Node, PersistentVolume, Pod};
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use schemas::HasConditions;
use schemas::cluster::Machine;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::core::lifecycle::{is_available, is_control_plane, plain};
use crate::core::support::World;

/// Returns a cluster with a worker, whose Node runs these Pods: name and label `eviction`.
async fn worker_with(pods: &[(&str, &str)]) -> (World, NamespacedName) {
    let world = World::start(1).await;
    world.create(plain(1)).await;
    world.until("available", |_| is_available(&world, 1)).await;
    let machines = world.objects::<Machine>().all();
    let worker = machines.iter().find(|machine| !is_control_plane(machine)).unwrap();
    let name = NamespacedName::of(worker.as_ref());
    for (pod, eviction) in pods {
        let labels = json!({"eviction": eviction});
        let metadata = json!({"name": pod, "namespace": "default", "labels": labels});
        create::<Pod>(
            &Api::default_namespaced(world.workload.clone()),
            metadata,
            json!({"nodeName": name.name}),
        )
        .await;
    }
    (world, name)
}

async fn create<K>(api: &Api<K>, metadata: Value, spec: Value)
where
    K: Clone + std::fmt::Debug + serde::Serialize + DeserializeOwned,
{
    let object = serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
}

async fn pods(world: &World) -> Vec<String> {
    let pods = Api::<Pod>::default_namespaced(world.workload.clone());
    let list = pods.list(&ListParams::default()).await.unwrap();
    list.items.into_iter().filter_map(|pod| pod.metadata.name).collect()
}

/// Returns the lines of the Machine's `Deleting` condition after the first; none once the Machine is gone.
fn lines(world: &World, machine: &NamespacedName) -> Vec<String> {
    let machine = world.objects::<Machine>().get(machine);
    let condition = machine.as_ref().and_then(|machine| machine.condition("Deleting").cloned());
    condition.iter().flat_map(|condition| condition.message.lines().skip(1).map(str::to_owned)).collect()
}

async fn delete(world: &World, machine: &NamespacedName) {
    let machines = world.objects::<Machine>();
    machines.delete(machines.get(machine).unwrap().as_ref()).await.unwrap();
}

/// An eviction that fails stops no other, its reason is in the condition, and the drain goes on with the event
/// of the last Pod that goes.
#[tokio::test(start_paused = true)]
async fn every_pod_is_evicted_that_can_be() {
    let (world, worker) = worker_with(&[("a", "broken"), ("b", "refused"), ("c", "accepted")]).await;
    delete(&world, &worker).await;
    let expected = [
        "* Pod default/b: cannot evict pod as it would violate the pod's disruption budget. The disruption budget x \
         needs 1 healthy pods and has 1 currently",
        "* Pod default/a: failed to evict Pod, the webhook is down",
    ];
    world.until("evicted", |_| lines(&world, &worker) == expected).await;
    assert_eq!(pods(&world).await, ["a", "b"]);
    let node = Api::<Node>::all(world.workload.clone()).get(&worker.name).await.unwrap();
    assert_eq!(node.spec.unwrap().unschedulable, Some(true));

    let api = Api::<Pod>::default_namespaced(world.workload.clone());
    let at_once = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
    let start = world.manager.clock().monotonic();
    for pod in ["a", "b"] {
        api.delete(pod, &at_once).await.unwrap();
    }
    world.until("deleted", |_| world.objects::<Machine>().get(&worker).is_none()).await;
    let took = world.manager.clock().monotonic() - start;
    assert!(took.as_secs() < 5, "the drain goes on with the events of the Pods: {took:?}");
    world.manager.stop().await;
}

/// The evictions of one reconcile are limited in time, and one without an answer does not hold up the others.
#[tokio::test(start_paused = true)]
async fn an_eviction_without_an_answer_is_given_up_for_now() {
    let (world, worker) = worker_with(&[("a", "silent"), ("b", "accepted")]).await;
    let start = world.manager.clock().monotonic();
    delete(&world, &worker).await;
    let expected =
        "* Pod default/a: failed to evict Pod, eviction timeout of 10s reached, eviction will be retried";
    world.until("evicted", |_| lines(&world, &worker) == [expected]).await;
    let took = world.manager.clock().monotonic() - start;
    let limit = cluster_core::machine::EVICTION_LIMIT;
    assert!(took >= limit && took < limit * 2, "{took:?}");
    assert_eq!(pods(&world).await, ["a"]);
    world.manager.stop().await;
}

/// A drain reads more Pods than fit in a page.
#[tokio::test(start_paused = true)]
async fn a_node_with_many_pods_is_drained() {
    let names: Vec<String> = (0..250).map(|number| format!("p{number}")).collect();
    let list: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "accepted")).collect();
    let (world, worker) = worker_with(&list).await;
    delete(&world, &worker).await;
    world.until("deleted", |_| world.objects::<Machine>().get(&worker).is_none()).await;
    assert!(pods(&world).await.is_empty());
    world.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_volume_is_detached_before_its_machine_is_deleted() {
    let (world, worker) = worker_with(&[]).await;
    let claim = json!({"namespace": "default", "name": "data"});
    let volumes = Api::<PersistentVolume>::all(world.workload.clone());
    create(&volumes, json!({"name": "v"}), json!({"claimRef": claim})).await;
    let attachments = Api::<VolumeAttachment>::all(world.workload.clone());
    let attachment = json!({"metadata": {"name": "a"}, "status": {"attached": true},
        "spec": {"attacher": "d", "nodeName": worker.name, "source": {"persistentVolumeName": "v"}}});
    attachments.create(&PostParams::default(), &serde_json::from_value(attachment).unwrap()).await.unwrap();
    delete(&world, &worker).await;
    world.until("waits", |_| lines(&world, &worker) == ["* PersistentVolumeClaims: default/data"]).await;
    attachments.delete("a", &DeleteParams::default()).await.unwrap();
    world.until("deleted", |_| world.objects::<Machine>().get(&worker).is_none()).await;
    world.manager.stop().await;
}
