//! Owners that are deleted.

use std::time::Duration;

use engine::Manager;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use serde_json::{Value, json};
use test_plane::Fixture;
use test_plane::requests::Delivery;

fn start(manager: &Manager) {
    workloads::PROVIDERS.iter().for_each(|provider| provider.start(manager, &()));
}

/// Deletes an owner, and the garbage collector its dependents. Returns what was created until a minute later.
/// The events of owners and dependents come over different watches, so that the last one can be the first that arrives.
async fn created(owner: &Value, delivery: Option<u64>) -> Vec<String> {
    let mut fixture = Fixture::new(&[], start).await;
    let labels = json!({"labels": {"cluster.x-k8s.io/provider": "infrastructure-test"}});
    fixture.patch::<Namespace>("default", json!({"metadata": labels})).await;
    fixture.create(owner.clone()).await;
    let pods = |manager: &Manager| manager.objects::<Pod>().all().len();
    fixture.until("the Pod is there", |manager| pods(manager) == 1).await;
    if let Some(event) = delivery {
        fixture.requests.plan_delivery(event, Delivery::Dropped);
        fixture.restart().await;
        fixture.until("the caches are complete", |manager| pods(manager) == 1).await;
    }
    match owner["kind"].as_str() {
        Some("Deployment") => fixture.delete::<Deployment>("manager").await,
        _ => fixture.delete::<ReplicaSet>("manager").await,
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    fixture.requests.trace().into_iter().filter(|write| write.starts_with("POST")).collect()
}

#[tokio::test(start_paused = true)]
async fn nothing_is_made_for_an_owner_that_is_gone_whichever_event_is_lost() {
    for kind in ["ReplicaSet", "Deployment"] {
        let template = json!({"metadata": {"labels": {"app": "manager"}}, "spec": {"containers": [{"name": "manager", "image": "manager"}]}});
        let owner = json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "manager"},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "manager"}}, "template": template}});
        let expected = created(&owner, None).await;
        for event in 1..=6 {
            assert_eq!(created(&owner, Some(event)).await, expected, "{kind}, lost event {event}");
        }
    }
}
