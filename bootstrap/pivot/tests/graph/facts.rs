//! Tests of `pivot::graph::facts`.

use pivot::graph::facts::{class, clusters, needs};
use pivot::object::Key;
use serde_json::{Value, json};

fn key(group: &str, kind: &str, name: &str) -> Key {
    Key { group: group.into(), kind: kind.into(), namespace: "n".into(), name: name.into() }
}

#[test]
fn secrets_of_a_cluster() {
    let cases = [
        ("a-b-ca", json!({}), (Some("a-b"), None)),
        ("a-kubeconfig", json!({}), (Some("a"), None)),
        ("a-apiserver-etcd-client", json!({}), (None, Some("a"))),
        ("other", json!({}), (None, None)),
        ("other", json!({"labels": {"cluster.x-k8s.io/cluster-name": "a"}}), (None, Some("a"))),
        ("a-ca", json!({"ownerReferences": [{"uid": "1", "kind": "Cluster", "name": "a"}]}), (None, None)),
    ];
    for (name, metadata, (cluster, labelled)) in cases {
        let object = json!({"metadata": metadata});
        let ownerless = object["metadata"]["ownerReferences"].is_null();
        let found = clusters(&key("", "Secret", name), &object, ownerless);
        let names = (found.0.map(|key| key.name), found.1.map(|key| key.name));
        assert_eq!(names, (cluster.map(Into::into), labelled.map(Into::into)), "{name}");
    }
}

#[test]
fn references_by_name() {
    let spec = json!({
        "infrastructureRef": {"apiGroup": "infra", "kind": "T", "name": "t"},
        "poolRef": {"apiVersion": "pools/v1", "kind": "Pool", "name": "p", "namespace": "q"},
        "files": [{"contentFrom": {"secret": {"name": "s", "key": "k"}}}],
        "bmc": {"credentialsName": "c"},
        "resources": [{"kind": "ConfigMap", "name": "m"}],
        "userData": {"name": "u"}, "preprovisioningNetworkDataName": "n",
        "template": {"metadata": {"name": "no reference"}},
        "name": "no reference", "kind": "",
    });
    let found: Vec<String> = needs(&spec)
        .into_iter()
        .map(|need| {
            format!("{}/{}/{}/{}", need.group, need.kind, need.namespace.unwrap_or_default(), need.name)
        })
        .collect();
    let mut sorted = found.clone();
    sorted.sort();
    let secrets = ["c", "n", "s", "u"].map(|name| format!("/Secret//{name}"));
    assert_eq!(sorted[0], "/ConfigMap//m");
    assert_eq!(sorted[1..5], secrets);
    assert_eq!(sorted[5..], ["infra/T//t", "pools/Pool/q/p"]);
}

#[test]
fn classes() {
    let of = |topology: Value| {
        let cluster = key("cluster.x-k8s.io", "Cluster", "c");
        class(&cluster, &json!({"spec": {"topology": topology}})).map(|key| key.to_string())
    };
    assert_eq!(of(json!({"classRef": {"name": "k"}})).as_deref(), Some("ClusterClass n/k"));
    assert_eq!(of(json!({"classRef": {"name": "k", "namespace": "m"}})).as_deref(), Some("ClusterClass m/k"));
    assert_eq!(of(json!({"class": "k"})).as_deref(), Some("ClusterClass n/k"));
    assert_eq!(of(Value::Null), None);
}
