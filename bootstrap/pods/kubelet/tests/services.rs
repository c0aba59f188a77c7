//! Tests of `kubelet::services`.

use engine::NamespacedName;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kubelet::services::{Addresses, SERVICES, endpoint, ready};
use pod_network::FIRST_SERVICE;
use serde_json::json;

#[test]
fn each_service_keeps_its_address() {
    let mut addresses = Addresses::default();
    let key = |name: &str| NamespacedName::new("capi-system", name);
    let first = addresses.of(&key("first"), |_| true);
    assert_eq!(first, Some(FIRST_SERVICE));
    assert_ne!(addresses.of(&key("second"), |_| true), first);
    assert_eq!(addresses.of(&key("first"), |_| true), first);
}

#[test]
fn addresses_of_services_that_are_gone_are_used_again() {
    let mut addresses = Addresses::default();
    let key = |number: usize| NamespacedName::new("capi-system", number.to_string());
    let all: Vec<_> = (0..SERVICES).map(|number| addresses.of(&key(number), |_| true)).collect();
    assert!(all.iter().all(Option::is_some));
    assert_eq!(addresses.of(&key(SERVICES), |_| true), None);
    let gone = key(7);
    assert_eq!(addresses.of(&key(SERVICES), |name| *name != gone), all[7]);
}

#[test]
fn a_port_leads_to_a_ready_pod() {
    let slice: EndpointSlice = serde_json::from_value(json!({
        "metadata": {}, "addressType": "IPv4",
        "endpoints": [
            {"addresses": ["198.18.0.1"], "conditions": {"ready": false}},
            {"addresses": ["198.18.0.2"], "conditions": {"ready": true}},
        ],
        "ports": [{"name": "metrics", "port": 8443}, {"name": "", "port": 9443}],
    }))
    .unwrap();
    assert_eq!(endpoint(&slice, ""), Some("198.18.0.2:9443".parse().unwrap()));
    assert_eq!(endpoint(&slice, "metrics"), Some("198.18.0.2:8443".parse().unwrap()));
    assert_eq!(endpoint(&slice, "other"), None);
    assert_eq!(ready(&slice).count(), 1);
}
