//! Tests of `simulated::workload::objects`.

use serde_json::{Value, json};
use simulated::workload::objects::etcd_image;

#[test]
fn the_image_of_etcd_is_that_of_kubeadms_configuration() {
    let rows = [
        ("", "registry.k8s.io/etcd:3.6.5-0"),
        ("etcd:\n  local:\n    dataDir: /var/lib/etcd\n", "registry.k8s.io/etcd:3.6.5-0"),
        ("imageRepository: mirror.example\n", "mirror.example/etcd:3.6.5-0"),
        ("etcd:\n  local:\n    imageTag: 3.6.6-0\n", "registry.k8s.io/etcd:3.6.6-0"),
        (
            "imageRepository: a.example\netcd:\n  local:\n    imageRepository: b.example\n    imageTag: '1'\n",
            "b.example/etcd:1",
        ),
        ("no: [configuration", "registry.k8s.io/etcd:3.6.5-0"),
    ];
    for (text, image) in rows {
        assert_eq!(etcd_image(&json!({"data": {"ClusterConfiguration": text}})), image, "{text}");
    }
    assert_eq!(etcd_image(&Value::Null), "registry.k8s.io/etcd:3.6.5-0");
}
