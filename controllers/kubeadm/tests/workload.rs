//! What a control plane keeps and reads in its workload cluster.
#![allow(clippy::unwrap_used, reason = "tests")]

use engine::{Manager, NamespacedName};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::Api;
use kube::api::Patch;
use kubeadm::config::cluster_info::signature;
use machinery::clock::{parse_rfc3339, rfc3339};
use schemas::cluster::Machine;
use schemas::controlplane::KubeadmControlPlane;
use serde_json::json;
use test_plane::{Fixture, get};

use crate::kubeadm::whole::{GROUPS, create, is_settled, machines, start};

const BINDINGS: [&str; 2] = ["kubeadm:cluster-admins", "kubeadm:apiserver-kubelet-client"];

fn client(manager: &Manager) -> kube::Client {
    manager.clusters().get(&NamespacedName::new("default", "c")).unwrap().client().clone()
}

#[tokio::test(start_paused = true)]
async fn bindings_and_configuration_are_there_before_a_new_version_joins() {
    let fixture = Fixture::new(GROUPS, start).await;
    create(&fixture, 1).await;
    fixture.until("available", |manager| is_settled(manager, 1)).await;
    let old = machines(&fixture.manager)[0].metadata.name.clone().unwrap();
    let bindings = Api::<ClusterRoleBinding>::all(client(&fixture.manager));
    for name in BINDINGS {
        let deleted = bindings.delete(name, &Default::default()).await;
        assert!(deleted.is_ok() || bindings.get_opt(name).await.unwrap().is_none());
    }
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert!(bindings.get_opt(BINDINGS[0]).await.unwrap().is_none(), "at rest nothing looks for them");

    fixture.patch::<KubeadmControlPlane>("cp", json!({"spec": {"version": "v1.36.0"}})).await;
    let is_upgraded = |manager: &Manager| get::<Machine>(manager, &old).is_none() && is_settled(manager, 1);
    fixture.until("upgraded", is_upgraded).await;
    let facts = |binding: ClusterRoleBinding| {
        let subject = binding.subjects.unwrap().remove(0);
        (binding.role_ref.name, subject.kind, subject.name)
    };
    let found =
        [facts(bindings.get(BINDINGS[0]).await.unwrap()), facts(bindings.get(BINDINGS[1]).await.unwrap())];
    let text = |role: &str, kind: &str, name: &str| (role.to_owned(), kind.to_owned(), name.to_owned());
    assert_eq!(found[0], text("cluster-admin", "Group", "kubeadm:cluster-admins"));
    assert_eq!(found[1], text("system:kubelet-api-admin", "User", "kube-apiserver-kubelet-client"));
    let maps = Api::<ConfigMap>::namespaced(client(&fixture.manager), "kube-system");
    let config = maps.get("kubeadm-config").await.unwrap().data.unwrap()["ClusterConfiguration"].clone();
    assert!(config.contains("kubernetesVersion: v1.36.0"), "{config}");
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_is_replaced_before_its_certificates_expire() {
    let fixture = Fixture::new(GROUPS, start).await;
    create(&fixture, 1).await;
    fixture.until("available", |manager| is_settled(manager, 1)).await;
    let expiry = |manager: &Manager| {
        let status = machines(manager).first().and_then(|machine| machine.status.clone());
        status.and_then(|status| status.certificates_expiry_date)
    };
    fixture.until("the expiry is read from the API server", |manager| expiry(manager).is_some()).await;
    let now = fixture.manager.clock().now();
    let read = parse_rfc3339(&expiry(&fixture.manager).unwrap()).unwrap();
    assert!(read > now, "{read}");

    let old = machines(&fixture.manager)[0].metadata.name.clone().unwrap();
    let rollout = json!({"spec": {"rollout": {"before": {"certificatesExpiryDays": 7}}}});
    fixture.patch::<KubeadmControlPlane>("cp", rollout).await;
    let expires = rfc3339(now + chrono::Duration::days(7) + chrono::Duration::minutes(5));
    let annotation =
        json!({"metadata": {"annotations": {"machine.cluster.x-k8s.io/certificates-expiry": expires}}});
    fixture.patch::<Machine>(&old, annotation).await;
    fixture.until("told", |manager| expiry(manager).as_ref() == Some(&expires)).await;
    tokio::time::sleep(std::time::Duration::from_secs(240)).await;
    assert!(
        get::<Machine>(&fixture.manager, &old).is_some() && machines(&fixture.manager).len() == 1,
        "too early"
    );
    // No event reports that a week is left.
    let is_replaced = |manager: &Manager| get::<Machine>(manager, &old).is_none() && is_settled(manager, 1);
    fixture.until("replaced", is_replaced).await;
    assert!(fixture.manager.clock().now() - now < chrono::Duration::minutes(10));
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn bootstrap_tokens_sign_cluster_info() {
    let fixture = Fixture::new(GROUPS, start).await;
    create(&fixture, 1).await;
    fixture.until("available", |manager| is_settled(manager, 1)).await;
    let client = client(&fixture.manager);
    let maps = Api::<ConfigMap>::namespaced(client.clone(), "kube-public");
    let written = Patch::Merge(json!({"data": {"kubeconfig": "text", "jws-kubeconfig-abcdef": "another"}}));
    maps.patch("cluster-info", &Default::default(), &written).await.unwrap();

    fixture.patch::<KubeadmControlPlane>("cp", json!({"spec": {"replicas": 3}})).await;
    fixture.until("three machines", |manager| is_settled(manager, 3)).await;
    let mut data = maps.get("cluster-info").await.unwrap().data.unwrap();
    assert_eq!(data.remove("kubeconfig").as_deref(), Some("text"));
    assert_eq!(data.remove("jws-kubeconfig-abcdef").as_deref(), Some("another"));
    assert_eq!(data.len(), 2, "a token for each machine that joins: {:?}", data.keys());
    for (key, value) in data {
        let id = key.strip_prefix("jws-kubeconfig-").unwrap();
        let secrets = Api::<Secret>::namespaced(client.clone(), "kube-system");
        let token = secrets.get(&format!("bootstrap-token-{id}")).await.unwrap();
        let secret = String::from_utf8(token.data.unwrap()["token-secret"].0.clone()).unwrap();
        assert_eq!(value, signature("text", id, &secret));
    }
    fixture.manager.stop().await;
}
