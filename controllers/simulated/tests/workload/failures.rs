//! What clients see of failures, and of PodDisruptionBudgets.

use std::time::Duration;

use kube::api::{DynamicObject, PostParams};
use kube::core::ApiResource;
use serde_json::json;
use simulated::workload::symptoms::{NodeHealth, Symptoms};

use super::*;

/// No request that is answered takes this long.
const PATIENCE: Duration = Duration::from_secs(30);

async fn show(cluster: &Cluster, name: &str, symptoms: Symptoms) {
    cluster.workload.show(name, symptoms).await.expect("the symptoms show");
}

/// Status and reason of the Node's condition `Ready`, the keys of its taints, its volumes, and the number of VolumeAttachments.
async fn seen(cluster: &Cluster, name: &str) -> (String, Vec<String>, usize, usize) {
    let nodes: Api<Node> = Api::all(cluster.client());
    let node = nodes.get(name).await.expect("the node");
    let status = node.status.expect("a status");
    let conditions = status.conditions.expect("conditions");
    let ready = conditions.iter().find(|condition| condition.type_ == "Ready").expect("the condition");
    let taints = node.spec.and_then(|spec| spec.taints).unwrap_or_default();
    let attachments = api(cluster, "storage.k8s.io", "VolumeAttachment", None);
    let attachments = attachments.list(&ListParams::default()).await.expect("attachments");
    (
        format!("{} {}", ready.status, ready.reason.clone().unwrap_or_default()),
        taints.into_iter().map(|taint| format!("{}:{}", taint.key, taint.effect)).collect(),
        status.volumes_attached.unwrap_or_default().len(),
        attachments.items.len(),
    )
}

fn api(cluster: &Cluster, group: &str, kind: &str, namespace: Option<&str>) -> Api<DynamicObject> {
    let resource = ApiResource {
        group: group.into(),
        version: "v1".into(),
        api_version: format!("{group}/v1"),
        kind: kind.into(),
        plural: engine::contract::plural(kind),
    };
    match namespace {
        Some(namespace) => Api::namespaced_with(cluster.client(), namespace, &resource),
        None => Api::all_with(cluster.client(), &resource),
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_gets_sick_and_well_again() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    let control_plane = "node-role.kubernetes.io/control-plane:NoSchedule".to_owned();
    let well = ("True KubeletReady".to_owned(), vec![control_plane.clone()], 0, 0);
    assert_eq!(seen(&cluster, "a").await, well);
    show(&cluster, "a", Symptoms { node: NodeHealth::NotReady, ..Symptoms::default() }).await;
    let (ready, taints, ..) = seen(&cluster, "a").await;
    assert_eq!((ready.as_str(), taints.len()), ("False KubeletNotReady", 3));
    let stopped = Symptoms { node: NodeHealth::Unreachable, volume_is_attached: true, ..Symptoms::default() };
    show(&cluster, "a", stopped).await;
    let unreachable = |effect: &str| format!("node.kubernetes.io/unreachable:{effect}");
    let taints = vec![control_plane, unreachable("NoSchedule"), unreachable("NoExecute")];
    assert_eq!(seen(&cluster, "a").await, ("Unknown NodeStatusUnknown".to_owned(), taints, 1, 1));
    let nodes: Api<Node> = Api::all(cluster.client());
    let version = nodes.get("a").await.expect("the node").metadata.resource_version;
    show(&cluster, "a", stopped).await;
    assert_eq!(
        nodes.get("a").await.expect("the node").metadata.resource_version,
        version,
        "nothing is written twice"
    );
    show(&cluster, "a", Symptoms::default()).await;
    assert_eq!(seen(&cluster, "a").await, well);
}

#[tokio::test(start_paused = true)]
async fn a_volume_goes_with_its_machine() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    cluster.start("b", 2).await;
    show(&cluster, "b", Symptoms { volume_is_attached: true, ..Symptoms::default() }).await;
    assert_eq!(seen(&cluster, "b").await.3, 1);
    cluster.workload.stop("b").await.expect("the machine stops");
    assert_eq!(seen(&cluster, "a").await.3, 0);
}

#[tokio::test(start_paused = true)]
async fn an_unhealthy_member_heals_and_a_lost_one_does_not() {
    let cluster = cluster().await;
    for (name, id) in [("a", 1), ("b", 2), ("c", 3)] {
        cluster.start(name, id).await;
    }
    let list = async || -> Vec<String> {
        let list: etcd::MemberListResponse =
            cluster.call("etcd-a", etcd::MEMBER_LIST, &etcd::MemberListRequest::default()).await;
        list.members.into_iter().map(|member| member.name).collect()
    };
    let ready = async |pod: &str| {
        let pods: Api<Pod> = Api::namespaced(cluster.client(), "kube-system");
        let status = pods.get(pod).await.expect("the pod").status.expect("a status");
        status.conditions.expect("conditions")[0].status.clone()
    };
    show(&cluster, "b", Symptoms { member_is_unhealthy: true, ..Symptoms::default() }).await;
    assert_eq!((list().await.len(), ready("etcd-b").await.as_str()), (3, "False"), "it is still a member");
    show(&cluster, "b", Symptoms::default()).await;
    let status: etcd::StatusResponse =
        cluster.call("etcd-b", etcd::STATUS, &etcd::StatusRequest::default()).await;
    assert_eq!((status.leader, ready("etcd-b").await.as_str()), (1, "True"));
    show(&cluster, "c", Symptoms { member_is_lost: true, ..Symptoms::default() }).await;
    assert_eq!(list().await, ["a", "b"]);
    show(&cluster, "c", Symptoms::default()).await;
    assert_eq!(list().await, ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_silent_api_server_accepts_and_does_not_answer() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    let nodes: Api<Node> = Api::all(cluster.client());
    nodes.get("a").await.expect("an answer");
    cluster.workload.set_silent(true);
    cluster.network.dial("127.0.0.1", PORT).await.expect("a connection");
    let fresh: Api<Node> = Api::all(cluster.client());
    for nodes in [&nodes, &fresh] {
        let answer = tokio::time::timeout(PATIENCE, nodes.get("a")).await;
        assert!(!matches!(answer, Ok(Ok(_))), "nothing is answered");
    }
    let waiting = nodes.clone();
    let waiting = tokio::spawn(async move { waiting.get("a").await });
    tokio::task::yield_now().await;
    cluster.workload.set_silent(false);
    tokio::time::timeout(PATIENCE, waiting).await.expect("in time").expect("no panic").expect("an answer");
    fresh.get("a").await.expect("an answer");
}

#[tokio::test(start_paused = true)]
async fn an_eviction_respects_budgets() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    let pods: Api<Pod> = Api::namespaced(cluster.client(), "default");
    for name in ["x", "y"] {
        let pod = json!({"metadata": {"name": name, "labels": {"app": "web"}}, "spec": {"containers": []}});
        pods.create(&PostParams::default(), &serde_json::from_value(pod).expect("a pod"))
            .await
            .expect("created");
        let status =
            json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
        let patch = kube::api::Patch::Merge(status);
        pods.patch_status(name, &Default::default(), &patch).await.expect("a status");
    }
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}});
    let budgets = api(&cluster, "policy", "PodDisruptionBudget", Some("default"));
    let budget = serde_json::from_value(budget).expect("a budget");
    budgets.create(&PostParams::default(), &budget).await.expect("created");
    pods.evict("x", &EvictParams::default()).await.expect("an eviction");
    let error = pods.evict("y", &EvictParams::default()).await.expect_err("a refusal");
    let kube::Error::Api(status) = error else { panic!("{error}") };
    assert_eq!((status.code, status.reason.as_str()), (429, "TooManyRequests"));
    assert_eq!(status.message, "Cannot evict pod as it would violate the pod's disruption budget.");
    let causes = status.details.expect("details").causes;
    assert_eq!(causes[0].reason, "DisruptionBudget");
    assert_eq!(causes[0].message, "The disruption budget web needs 1 healthy pods and has 1 currently");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_finalizers_hold_shows_that_it_was_evicted() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    let pods: Api<Pod> = Api::namespaced(cluster.client(), "default");
    let pod =
        json!({"metadata": {"name": "held", "finalizers": ["example.com/held"]}, "spec": {"containers": []}});
    pods.create(&PostParams::default(), &serde_json::from_value(pod).expect("a pod")).await.expect("created");
    let running =
        json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    pods.patch_status("held", &Default::default(), &kube::api::Patch::Merge(running))
        .await
        .expect("a status");
    pods.evict("held", &EvictParams::default()).await.expect("an eviction");
    let first = pods.get("held").await.expect("the pod");
    assert!(first.metadata.deletion_timestamp.is_some());
    let status = first.status.clone().expect("a status");
    assert_eq!(status.phase.as_deref(), Some("Succeeded"));
    let conditions = status.conditions.expect("conditions");
    let disrupted = conditions.iter().find(|condition| condition.type_ == "DisruptionTarget").expect("one");
    assert_eq!(
        (disrupted.status.as_str(), disrupted.reason.as_deref(), disrupted.message.as_deref()),
        ("True", Some("EvictionByEvictionAPI"), Some("Eviction API: evicting"))
    );
    assert!(conditions.iter().any(|condition| condition.type_ == "Ready"), "other conditions stay");
    pods.evict("held", &EvictParams::default()).await.expect("another eviction");
    let second = pods.get("held").await.expect("the pod");
    assert_eq!(second.metadata.resource_version, first.metadata.resource_version, "it changes nothing");
}
