//! Tests of `clusterctl::install::companions`.

use clusterctl::install::companions::mark;
use serde_json::json;

#[test]
fn kinds_are_moved_and_namespaces_run() {
    let marked = |kind: &str| {
        let mut object = json!({"kind": kind, "metadata": {"name": "x"}});
        mark(&mut object, "infrastructure-openstack");
        object["metadata"]["labels"].clone()
    };
    assert_eq!(
        marked("CustomResourceDefinition"),
        json!({"clusterctl.cluster.x-k8s.io": "", "clusterctl.cluster.x-k8s.io/move": ""})
    );
    assert_eq!(marked("Namespace"), json!({"cluster.x-k8s.io/provider": "infrastructure-openstack"}));
    assert_eq!(marked("Deployment"), json!(null));
}
