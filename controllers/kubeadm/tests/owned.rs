//! Owner references.

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kubeadm::owned::is_current;

#[test]
fn what_makes_another_reference() {
    let reference = |version: &str, uid: &str, controller: Option<bool>| OwnerReference {
        api_version: format!("cluster.x-k8s.io/{version}"),
        kind: "Cluster".to_owned(),
        name: "c".to_owned(),
        uid: uid.to_owned(),
        controller,
        block_owner_deletion: None,
    };
    let wanted = reference("v1beta2", "1", None);
    let rows = [
        (reference("v1beta2", "1", None), true),
        (reference("v1beta2", "1", Some(false)), true),
        (OwnerReference { block_owner_deletion: Some(true), ..wanted.clone() }, true),
        (reference("v1beta1", "1", None), false),
        (reference("v1beta2", "2", None), false),
        (reference("v1beta2", "1", Some(true)), false),
    ];
    for (present, is_wanted) in rows {
        let mut secret = Secret::default();
        assert!(!is_current(&secret, &wanted));
        secret.metadata.owner_references = Some(vec![present.clone()]);
        assert_eq!(is_current(&secret, &wanted), is_wanted, "{present:?}");
    }
}
