//! Signatures of bootstrap tokens.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::ConfigMap;
use kubeadm::config::cluster_info::{patch, signature};
use serde_json::json;

use super::from;

/// The expected values are those of the tests of Kubernetes' `k8s.io/cluster-bootstrap/token/jws`.
#[test]
fn signatures_are_those_of_kubernetes() {
    let (content, secret) =
        ("Hello from the other side. I must have called a thousand times.", "my voice is my passcode");
    let table = [
        (content, secret, "VShe2taLd-YTrmWuRkcL_8QTNDHYxQIEBsAYYiIj1_8"),
        ("", secret, "7Ui1ALizW4jXphVUB7xUqC9vLYLL9RZeOFfVLoB7Tgk"),
        (content, "", "UfkqvDGiIFxrMnFseDj9LYJOLNrvjW8aHhF71mvvAs8"),
    ];
    for (content, secret, expected) in table {
        let expected = format!("eyJhbGciOiJIUzI1NiIsImtpZCI6Impvc2h1YSJ9..{expected}");
        assert_eq!(signature(content, "joshua", secret), expected);
    }
}

#[test]
fn only_what_is_missing_is_added_to_the_text_that_was_read() {
    let metadata = json!({"name": "cluster-info", "namespace": "kube-public", "resourceVersion": "7"});
    let with = |data| from::<ConfigMap>(json!({"metadata": metadata, "data": data}));
    let tokens = |all: &[&str]| all.iter().map(|token| (*token).to_owned()).collect::<BTreeSet<_>>();
    let key = |id: &str| format!("jws-kubeconfig-{id}");
    let ours = |ids: &[&str]| {
        let signed = ids.iter().map(|id| (key(id), signature("text", id, "0123456789abcdef")));
        let data: BTreeMap<_, _> = signed.collect();
        json!({"metadata": {"resourceVersion": "7"}, "data": data})
    };
    let (one, other) = ("abcdef.0123456789abcdef", "uvwxyz.0123456789abcdef");
    let of_others = with(json!({"kubeconfig": "text", "jws-kubeconfig-123456": "another"}));
    let signed = with(json!({"kubeconfig": "text", "jws-kubeconfig-abcdef": "by the cluster"}));
    let table = [
        ("one", &of_others, tokens(&[one]), Some(ours(&["abcdef"]))),
        ("two", &of_others, tokens(&[one, other]), Some(ours(&["abcdef", "uvwxyz"]))),
        ("the other", &signed, tokens(&[one, other]), Some(ours(&["uvwxyz"]))),
        ("signed", &signed, tokens(&[one]), None),
        ("nothing to sign", &with(json!({"other": "text"})), tokens(&[one]), None),
        ("no data", &from(json!({"metadata": metadata})), tokens(&[one]), None),
        ("no token", &of_others, tokens(&["abcdef"]), None),
    ];
    for (name, cluster_info, tokens, expected) in table {
        assert_eq!(patch(cluster_info, &tokens), expected, "{name}");
    }
}

#[test]
fn signatures_of_tokens_that_are_gone_do_not_fill_the_object() {
    let metadata = json!({"name": "cluster-info", "namespace": "kube-public", "resourceVersion": "7"});
    let mut data: BTreeMap<String, String> =
        (0..100).map(|number| (format!("jws-kubeconfig-{number}"), "old".to_owned())).collect();
    data.insert("kubeconfig".to_owned(), "text".to_owned());
    let full = from::<ConfigMap>(json!({"metadata": metadata, "data": data}));
    let patched = patch(&full, &BTreeSet::from(["abcdef.0123456789abcdef".to_owned()])).unwrap();
    let changes = patched["data"].as_object().unwrap();
    assert_eq!(changes.len(), 101);
    assert_eq!(changes.values().filter(|value| value.is_null()).count(), 100);
    assert_eq!(changes["jws-kubeconfig-abcdef"], signature("text", "abcdef", "0123456789abcdef"));
    assert!(!changes.contains_key("kubeconfig"));
}
