//! The Pods of ReplicaSets.

use std::time::Duration;

use engine::Manager;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use serde_json::json;
use test_plane::World;
use test_plane::requests::Delivery;

fn start(manager: &Manager) {
    workloads::PROVIDERS.iter().for_each(|provider| provider.start(manager, &()));
}

/// Deletes a set, and the garbage collector its Pod. Returns how many Pods were created.
/// The events of the set and of the Pod come over two watches, so that the last one can be the first that arrives.
async fn created(delivery: Option<u64>) -> usize {
    let mut world = World::new(&[], start).await;
    let labels = json!({"labels": {"cluster.x-k8s.io/provider": "infrastructure-test"}});
    world.patch::<Namespace>("default", json!({"metadata": labels})).await;
    let template = json!({"metadata": {"labels": {"app": "manager"}}, "spec": {"containers": [{"name": "manager", "image": "manager"}]}});
    world
        .create(json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "manager"},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "manager"}}, "template": template}}))
        .await;
    let pods = |manager: &Manager| manager.objects::<Pod>().all().len();
    world.until("the Pod is there", |manager| pods(manager) == 1).await;
    if let Some(event) = delivery {
        world.requests.plan_delivery(event, Delivery::Dropped);
        world.restart().await;
        world.until("the caches are complete", |manager| pods(manager) == 1).await;
    }
    world.delete::<ReplicaSet>("manager").await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    world.requests.trace().iter().filter(|write| *write == "POST /api/v1/namespaces/default/pods").count()
}

#[tokio::test(start_paused = true)]
async fn a_set_that_is_gone_makes_no_pod_whichever_event_is_lost() {
    for delivery in [None, Some(1), Some(2), Some(3), Some(4)] {
        assert_eq!(created(delivery).await, 1, "lost event: {delivery:?}");
    }
}
