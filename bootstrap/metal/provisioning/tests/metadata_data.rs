//! Tests of `metadata::data`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use metal_provisioning::metadata::data::{Data, Secrets};
use schemas::metal3::BareMetalHost;
use serde_json::json;

fn host() -> BareMetalHost {
    serde_json::from_value(json!({
        "metadata": { "name": "node-1", "namespace": "metal", "uid": "1234" }, "spec": { "online": true },
    }))
    .unwrap()
}

fn secret(key: &str, text: &str) -> Secret {
    let data = BTreeMap::from([(key.to_owned(), ByteString(text.as_bytes().to_vec()))]);
    Secret { data: Some(data), ..Secret::default() }
}

#[test]
fn secrets_are_read_as_metal3_reads_them() {
    let (user, meta, network) = (
        secret("value", "#cloud-config\n"),
        secret("metaData", "name: other\nrack: 7\n"),
        secret("networkData", "links: []\nnetworks: []\n"),
    );
    let secrets = Secrets { user_data: Some(&user), meta_data: Some(&meta), network_data: Some(&network) };
    let data = Data::of(&host(), &secrets).unwrap();
    assert_eq!(data.user_data.as_deref(), Some("#cloud-config\n"));
    let meta_data = data.open_stack();
    let expected = json!({
        "uuid": "1234", "metal3-namespace": "metal", "metal3-name": "node-1", "local-hostname": "node-1",
        "local_hostname": "node-1", "hostname": "node-1", "name": "other", "rack": 7,
    });
    assert_eq!(meta_data, expected);
    assert_eq!(data.no_cloud()["instance-id"], "1234");
    let files: Vec<String> = data.config_drive().into_keys().collect();
    let expected = ["meta_data.json", "network_data.json", "user_data"];
    assert_eq!(files, expected.map(|name| format!("openstack/latest/{name}")));
    assert_eq!(data.cloud_init_network(), None);
}

#[test]
fn what_is_wrong_with_a_secret_is_told_without_its_content() {
    let wrong = secret("metaData", "token-1234");
    let secrets = Secrets { meta_data: Some(&wrong), ..Secrets::default() };
    let error = Data::of(&host(), &secrets).unwrap_err();
    assert!(error.contains("spec.metaData") && !error.contains("1234"), "{error}");
    let version = secret("networkData", "network: {version: 2, ethernets: {}}");
    let secrets = Secrets { network_data: Some(&version), ..Secrets::default() };
    let data = Data::of(&host(), &secrets).unwrap();
    assert_eq!(data.cloud_init_network(), Some(json!({ "version": 2, "ethernets": {} })));
}
