//! Tests of `ipam::claims`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use metal_machines::ipam::claims::{address_name, cluster_api_pool, metal3_pool, reference};
use schemas::meta::ContractVersionedObjectReference;

#[test]
fn names_are_those_of_metal3() {
    let name = |text: &str| address_name("pool", text.parse().unwrap());
    assert_eq!(name("192.168.0.10"), "pool-192-168-0-10");
    assert_eq!(name("fd00::1:a"), "pool-fd00--1-a");
    assert_eq!(name("fd00::"), "pool-fd00");
}

#[test]
fn only_pools_of_metal3_in_the_own_namespace_are_ours() {
    let metadata = ObjectMeta { namespace: Some("here".into()), ..ObjectMeta::default() };
    let metal3 = |name: &str, namespace: Option<&str>| {
        metal3_pool(&metadata, &reference(Some(name.to_owned()), namespace.map(str::to_owned)))
            .map(|pool| pool.to_string())
    };
    assert_eq!(metal3("p", None).as_deref(), Some("here/p"));
    assert_eq!(metal3("p", Some("here")).as_deref(), Some("here/p"));
    assert_eq!((metal3("p", Some("there")), metal3("", None)), (None, None));
    let cluster_api = |group: &str, kind: &str| {
        let pool =
            ContractVersionedObjectReference { api_group: group.into(), kind: kind.into(), name: "p".into() };
        cluster_api_pool(&metadata, &pool).is_some()
    };
    assert!(cluster_api("ipam.metal3.io", "IPPool"));
    assert!(!cluster_api("ipam.cluster.x-k8s.io", "IPPool") && !cluster_api("ipam.metal3.io", "Other"));
}
