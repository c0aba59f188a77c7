//! kubeadm's configuration in the workload cluster.

use kubeadm::controlplane::addons::kubeadm_config::{updated_configuration, with_dns};
use kubeadm::documents;
use schemas::bootstrap::{ClusterConfiguration, Dns};
use schemas::version::Version;
use serde_json::json;

#[test]
fn the_image_of_coredns_follows_the_spec() {
    let dns = Dns { image_repository: None, image_tag: Some("v1.12.0".to_owned()) };
    let text =
        "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\ndns: {imageRepository: old}\n";
    let updated = with_dns(text, &dns).unwrap().unwrap();
    assert_eq!(updated["dns"], json!({"imageTag": "v1.12.0"}));
    let again = documents::to_yaml(&updated).unwrap();
    assert_eq!(with_dns(&again, &dns).unwrap(), None);
    assert!(with_dns("- a", &dns).is_err());
}

#[test]
fn the_configuration_follows_the_spec_and_the_version() {
    let config = ClusterConfiguration { image_repository: Some("mirror".into()), ..Default::default() };
    let text = "apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\nclusterName: blue\nkubernetesVersion: v1.30.0\n\
                apiServer: {extraArgs: {a: b}}\netcd: {local: {dataDir: /d, extraArgs: {x: z}}}\n";
    let version = Version::new(1, 31, 0);
    let updated = updated_configuration(text, &config, &version).unwrap().unwrap();
    let expected = json!({
        "apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "ClusterConfiguration", "clusterName": "blue",
        "kubernetesVersion": "v1.31.0", "imageRepository": "mirror",
        "etcd": {"local": {"dataDir": "/d", "extraArgs": [{"name": "x", "value": "z"}]}},
    });
    assert_eq!(updated, expected);
    let again = documents::to_yaml(&updated).unwrap();
    assert_eq!(updated_configuration(&again, &config, &version).unwrap(), None);
    assert!(updated_configuration("", &config, &version).unwrap().is_some());
    assert!(updated_configuration("- a", &config, &version).is_err());
}
