//! Tests of the versions that implement the contract.

use schemas::contract::{implemented, implemented_by};

#[test]
fn the_newest_version_of_the_newest_contract() {
    let newest = |versions: &'static str| implemented(|_| Some(versions)).map(|(_, version)| version);
    assert_eq!(newest("v1alpha4_v1beta1"), Some("v1beta1"));
    assert_eq!(newest("v1beta10_v1beta9"), Some("v1beta10"));
    assert_eq!(newest("v1_v2beta1"), Some("v1"));
    assert_eq!(newest(""), None);
    let older = |name: &str| (name == "cluster.x-k8s.io/v1beta1").then_some("v1beta1_v1");
    assert_eq!(implemented(older), Some(("v1beta1", "v1")));
    assert_eq!(implemented(|_| None), None);
    assert_eq!(implemented(|_| Some("v3")), Some(("v1beta2", "v3")));
}

#[test]
fn each_version_has_the_contract_that_names_it() {
    let labels = |name: &str| match name {
        "cluster.x-k8s.io/v1beta2" => Some("v1beta2_v1"),
        "cluster.x-k8s.io/v1beta1" => Some("v1alpha1_v1beta1_v1"),
        _ => None,
    };
    for (version, contract) in [
        ("v1beta2", Some("v1beta2")),
        ("v1beta1", Some("v1beta1")),
        ("v1alpha1", Some("v1beta1")),
        ("v1", Some("v1beta2")),
        ("v1beta", None),
        ("v1alpha2", None),
        ("", None),
    ] {
        assert_eq!(implemented_by(version, labels), contract, "{version}");
    }
}
