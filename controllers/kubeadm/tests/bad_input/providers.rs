//! A provider of another party that breaks its contract, with objects as the API server stores them.

use serde_json::{Value, json};
use test_plane::{Fixture, get};

use schemas::cluster::Cluster;

use super::{of_cluster, rests};
use crate::kubeadm::whole::{GROUPS, create, is_settled, reference, start};

/// A kind of infrastructure without a schema.
fn definition() -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "oddclusters.infrastructure.cluster.x-k8s.io", "labels": {"cluster.x-k8s.io/v1beta2": "v1"}},
        "spec": {
            "group": "infrastructure.cluster.x-k8s.io", "scope": "Namespaced",
            "names": {"plural": "oddclusters", "singular": "oddcluster", "kind": "OddCluster", "listKind": "OddClusterList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}}}],
        },
    })
}

#[tokio::test(start_paused = true)]
async fn a_cluster_with_odd_infrastructure_says_so_and_the_others_go_on() {
    let fixture = Fixture::new(GROUPS, start).await;
    fixture.create(definition()).await;
    let odd = json!({"name": "odd", "namespace": "default"});
    fixture
        .create(
            json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1", "kind": "OddCluster", "metadata": odd,
            "spec": {"controlPlaneEndpoint": {"host": "h", "port": -5}},
            "status": {"initialization": {"provisioned": true}, "failureDomains": "everywhere",
                "conditions": [{"type": "Ready", "status": "True", "reason": "is ready!"}]}}),
        )
        .await;
    fixture
        .create(json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": odd,
            "spec": {"infrastructureRef": reference("infrastructure", "OddCluster", "odd")}}))
        .await;
    let says = |part: &'static str| {
        move |manager: &engine::Manager| of_cluster(manager, "odd", "InfrastructureReady").contains(part)
    };
    fixture.until("its condition is told", says("the reason \"is ready!\"")).await;
    create(&fixture, 1).await;
    fixture.until("the other Cluster is available", |manager| is_settled(manager, 1)).await;
    rests(&fixture, 0).await;
    let cluster = get::<Cluster>(&fixture.manager, "odd").unwrap();
    assert_eq!(cluster.spec.control_plane_endpoint, None);
    assert_eq!(cluster.status.as_ref().unwrap().phase.as_deref(), Some("Provisioning"));
    fixture.delete::<Cluster>("odd").await;
    fixture.until("it can be deleted", |manager| get::<Cluster>(manager, "odd").is_none()).await;
    fixture.manager.stop().await;
}
