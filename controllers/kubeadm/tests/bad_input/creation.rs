//! Machines that cannot be created.

use schemas::bootstrap::KubeadmConfig;
use schemas::infrastructure::DevMachine;
use test_plane::Fixture;

use super::rests;
use crate::kubeadm::whole::{GROUPS, create, is_settled, message, start};

/// Each attempt has another name. The condition must not repeat it: its change would cause the next attempt at once.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_created_is_not_tried_all_the_time() {
    let fixture = Fixture::new(GROUPS, start).await;
    let machines = "PATCH /apis/cluster.x-k8s.io/v1beta2/namespaces/default/machines/*";
    fixture.requests.refuse(Some(machines));
    create(&fixture, 1).await;
    let expected = "Scaling up from 0 to 1 replicas is blocked because:\n* patch Machine default/cp-*: the test refuses it";
    fixture.until("refused", |manager| message(manager, "ScalingUp") == expected).await;
    // An attempt, which comes every two minutes, makes two objects and deletes them, and counts an event.
    rests(&fixture, 31 * 16).await;
    assert_eq!(message(&fixture.manager, "ScalingUp"), expected);
    assert_eq!(
        fixture.list::<DevMachine>().await.len() + fixture.list::<KubeadmConfig>().await.len(),
        0,
        "nothing is left"
    );
    fixture.requests.refuse(None);
    fixture.until("available", |manager| is_settled(manager, 1)).await;
    fixture.manager.stop().await;
}
