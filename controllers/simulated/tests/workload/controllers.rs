//! What follows from the objects of a simulated cluster: Pods of Deployments and other owners, their Nodes, and statuses.

use std::collections::BTreeSet;
use std::fmt::Debug;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, EvictParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Cluster, cluster};

/// Creates an object in the namespace `default`, and waits for what follows.
pub(super) async fn create<K>(cluster: &Cluster, object: Value) -> Api<K>
where
    K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize,
{
    let api = Api::<K>::default_namespaced(cluster.client());
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    cluster.workload.settled().await;
    api
}

pub(super) async fn merge<K: Clone + Debug + DeserializeOwned>(
    cluster: &Cluster,
    api: &Api<K>,
    name: &str,
    patch: Value,
) {
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    cluster.workload.settled().await;
}

/// Returns the Pods with the label `app: x` that no deletion ends.
pub(super) async fn pods(cluster: &Cluster) -> Vec<Pod> {
    let all = Api::<Pod>::default_namespaced(cluster.client());
    let pods = all.list(&ListParams::default().labels("app=x")).await.unwrap().items;
    pods.into_iter().filter(|pod| pod.metadata.deletion_timestamp.is_none()).collect()
}

fn node_of(pod: &Pod) -> String {
    pod.spec.clone().unwrap().node_name.unwrap_or_default()
}

pub(super) fn phase(pod: &Pod) -> String {
    pod.status.clone().unwrap().phase.unwrap_or_default()
}

fn images(pods: &[Pod]) -> Vec<String> {
    pods.iter().map(|pod| pod.spec.clone().unwrap().containers[0].image.clone().unwrap()).collect()
}

/// A template, and the selector for its Pods.
pub(super) fn spec(more: Value) -> Value {
    let mut spec = json!({
        "selector": {"matchLabels": {"app": "x"}},
        "template": {"metadata": {"labels": {"app": "x"}}, "spec": {
            "containers": [{"name": "c", "image": "one"}],
            "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}],
        }},
    });
    json_patch(&mut spec, more);
    spec
}

fn json_patch(target: &mut Value, patch: Value) {
    match patch {
        Value::Object(fields) if target.is_object() => {
            fields.into_iter().for_each(|(key, value)| json_patch(&mut target[key], value));
        }
        value => *target = value,
    }
}

fn object(kind: &str, spec: Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec})
}

/// The image of the second template.
fn second() -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "two"}]}}}})
}

#[tokio::test(start_paused = true)]
async fn the_dns_of_a_new_cluster_is_ready_and_follows_its_template() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    let deployments = Api::<Deployment>::namespaced(cluster.client(), "kube-system");
    let patch =
        json!({"spec": {"template": {"spec": {"containers": [{"name": "coredns", "image": "new"}]}}}});
    for patch in [json!({}), patch] {
        merge(&cluster, &deployments, "coredns", patch).await;
        let dns = deployments.get("coredns").await.unwrap();
        let status = dns.status.unwrap();
        assert_eq!(status.observed_generation, dns.metadata.generation);
        let counts =
            [status.replicas, status.updated_replicas, status.ready_replicas, status.available_replicas];
        assert_eq!(counts, [Some(2); 4]);
        let conditions = status.conditions.unwrap();
        let told: Vec<_> =
            conditions.iter().map(|one| (one.type_.as_deref(), one.reason.as_deref())).collect();
        let expected = [("Available", "MinimumReplicasAvailable"), ("Progressing", "NewReplicaSetAvailable")];
        assert_eq!(told, expected.map(|(kind, reason)| (Some(kind), Some(reason))));
    }
    let all = Api::<Pod>::namespaced(cluster.client(), "kube-system");
    let pods = all.list(&ListParams::default().labels("k8s-app=kube-dns")).await.unwrap().items;
    assert_eq!(images(&pods), ["new", "new"]);
    let sets = Api::<ReplicaSet>::namespaced(cluster.client(), "kube-system");
    let sets = sets.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(sets.iter().map(|set| set.spec.replicas.unwrap()).sum::<i32>(), 2);
    assert_eq!(sets.len(), 2, "the old template can come back");
}

#[tokio::test(start_paused = true)]
async fn pods_go_where_they_may_and_the_others_say_why_they_do_not() {
    let cluster = cluster().await;
    for (name, id) in [("a", 1), ("b", 2), ("c", 3)] {
        cluster.start(name, id).await;
    }
    let apart = json!({"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}]});
    let affinity = json!({"template": {"spec": {"affinity": {"podAntiAffinity": apart}}}, "replicas": 2});
    let deployments: Api<Deployment> = create(&cluster, object("Deployment", spec(affinity))).await;
    let placed: BTreeSet<String> = pods(&cluster).await.iter().map(node_of).collect();
    assert_eq!(placed.len(), 2, "{placed:?}");

    let nodes = Api::<Node>::all(cluster.client());
    let free = ["a", "b", "c"].into_iter().find(|name| !placed.contains(*name)).unwrap();
    merge(&cluster, &nodes, free, json!({"spec": {"unschedulable": true}})).await;
    merge(&cluster, &deployments, "x", json!({"spec": {"replicas": 3}})).await;
    let waiting = pods(&cluster).await.into_iter().find(|pod| node_of(pod).is_empty()).unwrap();
    assert_eq!(phase(&waiting), "Pending");
    let condition = waiting.status.unwrap().conditions.unwrap().remove(0);
    assert_eq!(
        (condition.type_.as_str(), condition.reason.as_deref()),
        ("PodScheduled", Some("Unschedulable"))
    );
    let message = "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't match pod anti-affinity rules.";
    assert_eq!(condition.message.as_deref(), Some(message));
    assert_eq!(deployments.get("x").await.unwrap().status.unwrap().unavailable_replicas, Some(1));

    merge(&cluster, &nodes, free, json!({"spec": {"unschedulable": null}})).await;
    let placed: BTreeSet<String> = pods(&cluster).await.iter().map(node_of).collect();
    assert_eq!(placed.len(), 3);
    assert_eq!(deployments.get("x").await.unwrap().status.unwrap().available_replicas, Some(3));

    cluster.workload.stop(free).await.unwrap();
    let left = pods(&cluster).await;
    assert!(left.iter().all(|pod| node_of(pod) != free), "Pods go with their Node");
    assert_eq!(left.len(), 3, "and others take their places");
}

#[tokio::test(start_paused = true)]
async fn an_evicted_pod_is_replaced_and_one_that_something_holds_has_ended() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    let held = json!({"template": {"metadata": {"finalizers": ["example.com/hold"]}}});
    create::<Deployment>(&cluster, object("Deployment", spec(held))).await;
    let all = Api::<Pod>::default_namespaced(cluster.client());
    for evicts in [true, false] {
        let name = pods(&cluster).await[0].name_any();
        match evicts {
            true => all.evict(&name, &EvictParams::default()).await.map(drop).unwrap(),
            false => all.delete(&name, &DeleteParams::default()).await.map(drop).unwrap(),
        }
        cluster.workload.settled().await;
        assert_eq!(phase(&all.get(&name).await.unwrap()), "Succeeded");
        let now = pods(&cluster).await;
        assert_eq!((now.len(), phase(&now[0])), (1, "Running".to_owned()));
        assert_ne!(now[0].name_any(), name);
    }
}

#[tokio::test(start_paused = true)]
async fn a_daemon_set_has_a_pod_on_each_node_that_it_tolerates_and_of_its_template() {
    let cluster = cluster().await;
    for (name, id) in [("a", 1), ("b", 2)] {
        cluster.start(name, id).await;
    }
    let sets: Api<DaemonSet> = create(&cluster, object("DaemonSet", spec(json!({})))).await;
    let nodes = Api::<Node>::all(cluster.client());
    merge(&cluster, &nodes, "a", json!({"spec": {"unschedulable": true}})).await;
    merge(&cluster, &sets, "x", second()).await;
    let now = pods(&cluster).await;
    assert_eq!(now.iter().map(node_of).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(images(&now), ["two", "two"]);
    let set = sets.get("x").await.unwrap();
    let status = set.status.unwrap();
    assert_eq!(status.observed_generation, set.metadata.generation);
    assert_eq!((status.desired_number_scheduled, status.current_number_scheduled), (2, 2));
    assert_eq!((status.number_ready, status.number_available), (2, Some(2)));
    assert_eq!((status.updated_number_scheduled, status.number_unavailable), (Some(2), None));

    let taint = json!([{"key": "example.com/no", "effect": "NoExecute"}]);
    merge(&cluster, &nodes, "b", json!({"spec": {"taints": taint}})).await;
    assert_eq!(pods(&cluster).await.iter().map(node_of).collect::<Vec<_>>(), ["a"]);
    assert_eq!(sets.get("x").await.unwrap().status.unwrap().desired_number_scheduled, 1);

    let system = Api::<DaemonSet>::namespaced(cluster.client(), "kube-system");
    let patch =
        json!({"spec": {"template": {"spec": {"containers": [{"name": "kube-proxy", "image": "new"}]}}}});
    merge(&cluster, &system, "kube-proxy", patch).await;
    let all = Api::<Pod>::namespaced(cluster.client(), "kube-system");
    let proxies = all.list(&ListParams::default().labels("k8s-app=kube-proxy")).await.unwrap().items;
    assert_eq!(images(&proxies), ["new", "new"]);
}

#[tokio::test(start_paused = true)]
async fn a_stateful_set_has_pods_with_numbers_and_of_its_template() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    let sets: Api<StatefulSet> =
        create(&cluster, object("StatefulSet", spec(json!({"serviceName": "x", "replicas": 3})))).await;
    let names = |pods: &[Pod]| pods.iter().map(ResourceExt::name_any).collect::<Vec<_>>();
    assert_eq!(names(&pods(&cluster).await), ["x-0", "x-1", "x-2"]);
    merge(&cluster, &sets, "x", second()).await;
    assert_eq!(images(&pods(&cluster).await), ["two", "two", "two"]);
    merge(&cluster, &sets, "x", json!({"spec": {"replicas": 1}})).await;
    assert_eq!(names(&pods(&cluster).await), ["x-0"]);
    let set = sets.get("x").await.unwrap();
    let status = set.status.unwrap();
    assert_eq!((status.observed_generation, status.replicas), (set.metadata.generation, 1));
    let counts =
        [status.ready_replicas, status.available_replicas, status.current_replicas, status.updated_replicas];
    assert_eq!(counts, [Some(1); 4]);
    assert_eq!(status.current_revision, status.update_revision);
}

#[tokio::test(start_paused = true)]
async fn a_pod_of_nobody_runs() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    let bare = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare"}, "spec": {
        "containers": [{"name": "c", "image": "i"}], "tolerations": [{"operator": "Exists"}]}});
    let all: Api<Pod> = create(&cluster, bare).await;
    let pod = all.get("bare").await.unwrap();
    assert_eq!((node_of(&pod).as_str(), phase(&pod).as_str()), ("a", "Running"));
    assert!(pod.status.unwrap().container_statuses.unwrap()[0].ready);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_taken_from_its_controller_is_replaced() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    create::<Deployment>(&cluster, object("Deployment", spec(json!({"replicas": 2})))).await;
    let before = pods(&cluster).await;
    assert_eq!(before.len(), 2);
    let all = Api::<Pod>::default_namespaced(cluster.client());
    let name = before[0].name_any();
    merge(&cluster, &all, &name, json!({"metadata": {"ownerReferences": null}})).await;
    let now = pods(&cluster).await;
    assert_eq!(now.len(), 3, "one of nobody, and two of the ReplicaSet");
    all.delete(&name, &DeleteParams::default()).await.unwrap();
    cluster.workload.settled().await;
    assert_eq!(pods(&cluster).await.len(), 2);
}
