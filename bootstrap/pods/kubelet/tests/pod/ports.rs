//! Tests of `kubelet::pod::ports`.

use k8s_openapi::api::core::v1::Pod;
use kubelet::host::ADDRESS;
use kubelet::pod::ports::Ports;
use net::{Network, RealNetwork};
use serde_json::json;

fn pod(name: &str, ports: &[u16]) -> Pod {
    let ports: Vec<_> = ports.iter().map(|port| json!({"containerPort": port})).collect();
    serde_json::from_value(json!({
        "metadata": {"name": name, "namespace": "capi-system"},
        "spec": {"containers": [{"name": "manager", "ports": ports}]},
    }))
    .unwrap()
}

#[test]
fn a_port_belongs_to_one_pod() {
    let ports = Ports::default();
    let first = ports.claim(&pod("first", &[9443, 9440, 9440])).unwrap();
    let _other = ports.claim(&pod("other", &[8081])).unwrap();
    let refused = ports.claim(&pod("second", &[8082, 9443])).unwrap_err().to_string();
    assert!(refused.contains("capi-system/first") && refused.contains("9443"), "{refused}");
    drop(first);
    ports.claim(&pod("second", &[8082, 9443])).unwrap();
}

#[tokio::test]
async fn a_port_in_use_is_moved() {
    let (ports, network) = (Ports::default(), RealNetwork);
    let listener = network.listen(ADDRESS, 0).await.unwrap();
    let used = listener.port();
    let first = ports.claim_or_find(&pod("first", &[used]), &network).await.unwrap();
    let moved = first.moves[&used].clone();
    assert_eq!(moved.other, "another program of this machine");
    assert_ne!(moved.to, used);
    let second = ports.claim_or_find(&pod("second", &[moved.to]), &network).await.unwrap();
    assert_eq!(second.moves[&moved.to].other, "the Pod capi-system/first");
}
