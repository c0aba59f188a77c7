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
use crate::core::support::Fixture;

/// Returns a cluster with a worker, whose Node runs these Pods: name and label `eviction`.
async fn worker_with(pods: &[(&str, &str)]) -> (Fixture, NamespacedName) {
    let fixture = Fixture::start(1).await;
    fixture.create(plain(1)).await;
    fixture.until("available", |_| is_available(&fixture, 1)).await;
    let machines = fixture.objects::<Machine>().all();
    let worker = machines.iter().find(|machine| !is_control_plane(machine)).unwrap();
    let name = NamespacedName::of(worker.as_ref());
    for (pod, eviction) in pods {
        let labels = json!({"eviction": eviction});
        let metadata = json!({"name": pod, "namespace": "default", "labels": labels});
        create::<Pod>(
            &Api::default_namespaced(fixture.workload.clone()),
            metadata,
            json!({"nodeName": name.name}),
        )
        .await;
    }
    (fixture, name)
}

async fn create<K>(api: &Api<K>, metadata: Value, spec: Value)
where
    K: Clone + std::fmt::Debug + serde::Serialize + DeserializeOwned,
{
    let object = serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
}

async fn pods(fixture: &Fixture) -> Vec<String> {
    let pods = Api::<Pod>::default_namespaced(fixture.workload.clone());
    let list = pods.list(&ListParams::default()).await.unwrap();
    list.items.into_iter().filter_map(|pod| pod.metadata.name).collect()
}

/// Returns the lines of the Machine's `Deleting` condition after the first; none once the Machine is gone.
fn lines(fixture: &Fixture, machine: &NamespacedName) -> Vec<String> {
    let machine = fixture.objects::<Machine>().get(machine);
    let condition = machine.as_ref().and_then(|machine| machine.condition("Deleting").cloned());
    condition.iter().flat_map(|condition| condition.message.lines().skip(1).map(str::to_owned)).collect()
}

async fn delete(fixture: &Fixture, machine: &NamespacedName) {
    let machines = fixture.objects::<Machine>();
    machines.delete(machines.get(machine).unwrap().as_ref()).await.unwrap();
}

/// An eviction that fails stops no other, its reason is in the condition, and the drain goes on with the event
/// of the last Pod that goes.
#[tokio::test(start_paused = true)]
async fn every_pod_is_evicted_that_can_be() {
    let (fixture, worker) = worker_with(&[("a", "broken"), ("b", "refused"), ("c", "accepted")]).await;
    delete(&fixture, &worker).await;
    let expected = [
        "* Pod default/b: cannot evict pod as it would violate the pod's disruption budget. The disruption budget x \
         needs 1 healthy pods and has 1 currently",
        "* Pod default/a: failed to evict Pod, the webhook is down",
    ];
    fixture.until("evicted", |_| lines(&fixture, &worker) == expected).await;
    assert_eq!(pods(&fixture).await, ["a", "b"]);
    let node = Api::<Node>::all(fixture.workload.clone()).get(&worker.name).await.unwrap();
    assert_eq!(node.spec.unwrap().unschedulable, Some(true));

    let api = Api::<Pod>::default_namespaced(fixture.workload.clone());
    let at_once = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
    let start = fixture.manager.clock().monotonic();
    for pod in ["a", "b"] {
        api.delete(pod, &at_once).await.unwrap();
    }
    fixture.until("deleted", |_| fixture.objects::<Machine>().get(&worker).is_none()).await;
    let took = fixture.manager.clock().monotonic() - start;
    assert!(took.as_secs() < 5, "the drain goes on with the events of the Pods: {took:?}");
    fixture.manager.stop().await;
}

/// The evictions of one reconcile are limited in time, and one without an answer does not hold up the others.
#[tokio::test(start_paused = true)]
async fn an_eviction_without_an_answer_is_given_up_for_now() {
    let (fixture, worker) = worker_with(&[("a", "silent"), ("b", "accepted")]).await;
    let start = fixture.manager.clock().monotonic();
    delete(&fixture, &worker).await;
    let expected =
        "* Pod default/a: failed to evict Pod, eviction timeout of 10s reached, eviction will be retried";
    fixture.until("evicted", |_| lines(&fixture, &worker) == [expected]).await;
    let took = fixture.manager.clock().monotonic() - start;
    let limit = cluster_core::machine::EVICTION_LIMIT;
    assert!(took >= limit && took < limit * 2, "{took:?}");
    assert_eq!(pods(&fixture).await, ["a"]);
    fixture.manager.stop().await;
}

/// A drain reads more Pods than fit in a page.
#[tokio::test(start_paused = true)]
async fn a_node_with_many_pods_is_drained() {
    let names: Vec<String> = (0..250).map(|number| format!("p{number}")).collect();
    let list: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "accepted")).collect();
    let (fixture, worker) = worker_with(&list).await;
    delete(&fixture, &worker).await;
    fixture.until("deleted", |_| fixture.objects::<Machine>().get(&worker).is_none()).await;
    assert!(pods(&fixture).await.is_empty());
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_volume_is_detached_before_its_machine_is_deleted() {
    let (fixture, worker) = worker_with(&[]).await;
    let claim = json!({"namespace": "default", "name": "data"});
    let volumes = Api::<PersistentVolume>::all(fixture.workload.clone());
    create(&volumes, json!({"name": "v"}), json!({"claimRef": claim})).await;
    let attachments = Api::<VolumeAttachment>::all(fixture.workload.clone());
    let attachment = json!({"metadata": {"name": "a"}, "status": {"attached": true},
        "spec": {"attacher": "d", "nodeName": worker.name, "source": {"persistentVolumeName": "v"}}});
    attachments.create(&PostParams::default(), &serde_json::from_value(attachment).unwrap()).await.unwrap();
    delete(&fixture, &worker).await;
    fixture.until("waits", |_| lines(&fixture, &worker) == ["* PersistentVolumeClaims: default/data"]).await;
    attachments.delete("a", &DeleteParams::default()).await.unwrap();
    fixture.until("deleted", |_| fixture.objects::<Machine>().get(&worker).is_none()).await;
    fixture.manager.stop().await;
}
