//! Secrets with nonsense: authorities and kubeconfigs.

use std::sync::Arc;

use engine::NamespacedName;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use schemas::HasConditions;
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::Machine;
use serde_json::{Value, json};
use test_plane::{Fixture, get};

use super::{of_cluster, rests};
use crate::kubeadm::whole::{GROUPS, create, is_settled, machines, message, metadata, reference, start};

fn encoded(text: &str) -> Value {
    serde_json::to_value(ByteString(text.as_bytes().to_vec())).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_authority_that_cannot_be_read_is_named_until_it_is_replaced() {
    let fixture = Fixture::new(GROUPS, start).await;
    let data = json!({"tls.crt": encoded("nonsense"), "tls.key": encoded("nonsense")});
    // The type is that of users, whose Secrets are never overwritten.
    fixture
        .create(json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
            "metadata": {"name": "c-ca", "namespace": "default"}, "data": data}))
        .await;
    create(&fixture, 1).await;
    let names_it = |manager: &engine::Manager| {
        message(manager, "CertificatesAvailable").starts_with("Secret c-ca has an unusable tls.crt: ")
    };
    fixture.until("it is named", names_it).await;
    rests(&fixture, 0).await;
    assert_eq!(machines(&fixture.manager).len(), 0, "no Machine could come up");
    assert!(!message(&fixture.manager, "CertificatesAvailable").contains("nonsense"));
    fixture.delete::<Secret>("c-ca").await;
    fixture.until("available", |manager| is_settled(manager, 1)).await;
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_kubeconfig_that_cannot_be_used_is_named_until_it_is_replaced() {
    let fixture = Fixture::new(GROUPS, start).await;
    create(&fixture, 1).await;
    fixture.until("available", |manager| is_settled(manager, 1)).await;
    let name = machines(&fixture.manager)[0].metadata.name.clone();
    let nonsense = "current-context: x\ncontexts: [{name: x, context: {cluster: x, user: x}}]\n\
                    clusters: [{name: x, cluster: {server: 'elsewhere:6443'}}]\n";
    // Columns: the value, what the Cluster says about it.
    let rows = [
        ("{", "* Secret c-kubeconfig: the kubeconfig can't be used: it is not valid YAML or JSON"),
        (nonsense, "* Secret c-kubeconfig: the kubeconfig can't be used: users has no entry named \"x\""),
    ];
    for (value, problem) in rows {
        fixture.patch::<Secret>("c-kubeconfig", json!({"data": {"value": encoded(value)}})).await;
        let says =
            |manager: &engine::Manager| of_cluster(manager, "c", "RemoteConnectionProbe").ends_with(problem);
        fixture.until(problem, says).await;
        let how = "Secret c-kubeconfig has no kubeconfig with a client certificate under the key value: delete the Secret";
        let tells = |manager: &engine::Manager| message(manager, "CertificatesAvailable").starts_with(how);
        fixture.until("what to do", tells).await;
        rests(&fixture, 0).await;
    }
    let still: Vec<_> =
        machines(&fixture.manager).iter().map(|machine| machine.metadata.name.clone()).collect();
    assert_eq!(still, [name], "no Machine is replaced");
    fixture.delete::<Secret>("c-kubeconfig").await;
    fixture.until("available", |manager| is_settled(manager, 1)).await;
    let cluster = NamespacedName::new("default", "c");
    fixture.until("connected", |manager| manager.clusters().get(&cluster).is_ok()).await;
    fixture.until("said", |manager| of_cluster(manager, "c", "RemoteConnectionProbe").is_empty()).await;
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_secret_of_a_user_is_not_overwritten_by_bootstrap_data() {
    let fixture = Fixture::new(GROUPS, start).await;
    create(&fixture, 1).await;
    fixture.until("available", |manager| is_settled(manager, 1)).await;
    let (bootstrap, infrastructure) =
        ("bootstrap.cluster.x-k8s.io/v1beta2", "infrastructure.cluster.x-k8s.io/v1beta2");
    // Cluster API's type alone does not make it bootstrap data: authorities and kubeconfigs have it, too.
    let kept = json!({"tls.crt": encoded("kept"), "tls.key": encoded("kept")});
    let objects = [
        json!({"apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret", "metadata": metadata("w"), "data": kept}),
        json!({"apiVersion": bootstrap, "kind": "KubeadmConfig", "metadata": metadata("w"), "spec": {"verbosity": 2}}),
        json!({"apiVersion": infrastructure, "kind": "DevMachine", "metadata": metadata("w"),
            "spec": {"backend": {"inMemory": {}}}}),
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": metadata("w"), "spec": {
            "clusterName": "c", "version": "v1.35.0",
            "bootstrap": {"configRef": reference("bootstrap", "KubeadmConfig", "w")},
            "infrastructureRef": reference("infrastructure", "DevMachine", "w")}}),
    ];
    for object in objects {
        fixture.create(object).await;
    }
    let told = |manager: &engine::Manager| {
        let config: Option<Arc<KubeadmConfig>> = get(manager, "w");
        let condition = config.and_then(|config| config.condition("DataSecretAvailable").cloned());
        condition.map(|condition| condition.message).unwrap_or_default()
    };
    fixture.until("it is named", |manager| told(manager).starts_with("Secret w has the name for")).await;
    rests(&fixture, 0).await;
    let secret: Arc<Secret> = get(&fixture.manager, "w").unwrap();
    assert_eq!(serde_json::to_value(&secret.data).unwrap(), kept);
    assert_eq!(secret.metadata.owner_references, None);
    fixture.delete::<Secret>("w").await;
    let has_node = |manager: &engine::Manager| {
        let machine: Option<Arc<Machine>> = get(manager, "w");
        machine.is_some_and(|machine| machine.status.as_ref().is_some_and(|status| status.node_ref.is_some()))
    };
    fixture.until("the Node is there", has_node).await;
    fixture.manager.stop().await;
}
