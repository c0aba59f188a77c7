//! Tests of structs that are left out where they have no fields.

use std::collections::BTreeMap;

use schemas::bootstrap::{
    ClusterConfiguration, InitConfiguration, JoinConfiguration, JoinControlPlane, KubeadmConfig,
    NodeRegistrationOptions,
};
use schemas::controlplane::KubeadmControlPlane;
use schemas::empty::{has_no_fields, is_none_or_empty};
use schemas::infrastructure::DevMachine;
use serde_json::{Value, json};

#[test]
fn a_value_without_fields() {
    assert!(is_none_or_empty(&None::<ClusterConfiguration>));
    assert!(is_none_or_empty(&Some(ClusterConfiguration::default())));
    assert!(has_no_fields(&json!({})) && has_no_fields(&BTreeMap::<String, String>::new()));
    for value in [json!({"a": {}}), json!([]), json!(""), json!(0), json!(false), Value::Null] {
        assert!(!has_no_fields(&value), "{value}");
    }
}

#[test]
fn what_a_server_would_refuse_empty_is_left_out() {
    let mut config = KubeadmConfig::default();
    config.metadata.name = Some("c".to_owned());
    let expected =
        json!({"apiVersion": KubeadmConfig::API_VERSION, "kind": "KubeadmConfig", "metadata": {"name": "c"}});
    assert_eq!(serde_json::to_value(&config).unwrap(), expected);
    // A struct in which only empty structs are is as empty.
    let registration = Some(NodeRegistrationOptions::default());
    config.spec.cluster_configuration = Some(ClusterConfiguration::default());
    config.spec.init_configuration =
        Some(InitConfiguration { node_registration: registration, ..InitConfiguration::default() });
    assert_eq!(serde_json::to_value(&config).unwrap(), expected);
    // This one means something without fields.
    config.spec.join_configuration = Some(JoinConfiguration {
        control_plane: Some(JoinControlPlane::default()),
        ..JoinConfiguration::default()
    });
    let written = serde_json::to_value(&config).unwrap();
    assert_eq!(written["spec"], json!({"joinConfiguration": {"controlPlane": {}}}));
}

#[test]
fn other_structs_are_written() {
    assert_eq!(serde_json::to_value(DevMachine::default()).unwrap()["spec"], json!({"backend": {}}));
    let plane = serde_json::to_value(KubeadmControlPlane::default()).unwrap();
    assert_eq!(plane["spec"]["version"], "");
}
