//! Pods that nothing runs.

use engine::Manager;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use serde_json::{Value, json};
use test_plane::Fixture;

fn start(manager: &Manager) {
    workloads::PROVIDERS.iter().for_each(|provider| provider.start(manager, &()));
}

fn pod(name: &str, spec: &Value) -> Value {
    let mut spec = spec.clone();
    spec["containers"] = json!([{"name": "x", "image": "x"}]);
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
}

/// Returns status, reason and message of `PodScheduled`.
fn scheduled(manager: &Manager, name: &str) -> Option<(String, String, String)> {
    let all = manager.objects::<Pod>().all();
    let found = all.iter().find(|pod| pod.metadata.name.as_deref() == Some(name))?;
    let mut conditions = found.status.as_ref()?.conditions.iter().flatten();
    let condition = conditions.find(|condition| condition.type_ == "PodScheduled")?;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    Some((condition.status.clone(), text(&condition.reason), text(&condition.message)))
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_nothing_runs_says_why() {
    let fixture = Fixture::new(&[], start).await;
    fixture.create(pod("alone", &json!({}))).await;
    fixture.until("it says so", |manager| scheduled(manager, "alone").is_some()).await;
    let (status, reason, message) = scheduled(&fixture.manager, "alone").unwrap_or_default();
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Unschedulable"));
    assert!(message.contains("cluster.x-k8s.io/provider") && message.contains("default"), "{message}");

    fixture.create(pod("gated", &json!({"schedulingGates": [{"name": "example.com/gate"}]}))).await;
    fixture.create(pod("bound", &json!({"nodeName": "somewhere"}))).await;
    let labels = json!({"labels": {"cluster.x-k8s.io/provider": "infrastructure-test"}});
    fixture.create(pod("last", &json!({}))).await;
    fixture.until("the last one says so", |manager| scheduled(manager, "last").is_some()).await;
    let gated = scheduled(&fixture.manager, "gated").unwrap_or_default();
    assert_eq!(gated.1, "SchedulingGated", "what somebody else has said stays");
    assert_eq!(scheduled(&fixture.manager, "bound"), None, "it waits for its Node");

    fixture.patch::<Namespace>("default", json!({"metadata": labels})).await;
    fixture.create(pod("provider", &json!({}))).await;
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert_eq!(scheduled(&fixture.manager, "provider"), None, "the kubelet of this machine runs it");
}
