//! Protobuf bodies in the form that clients send.

use kinds::protobuf::decode;
use serde_json::json;

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = u8::try_from(number & 0x7f).unwrap();
        number >>= 7;
        if number == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

fn bytes(number: u64, content: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
}

fn text(number: u64, content: &str) -> Vec<u8> {
    bytes(number, content.as_bytes())
}

fn integer(number: u64, value: i64) -> Vec<u8> {
    [varint(number << 3), varint(value.cast_unsigned())].concat()
}

fn body(api_version: &str, kind: &str, object: &[u8]) -> Vec<u8> {
    let meta = [text(1, api_version), text(2, kind)].concat();
    [b"k8s\0".to_vec(), bytes(1, &meta), bytes(2, object), text(3, ""), text(4, "")].concat()
}

fn metadata(name: &str) -> Vec<u8> {
    // Go encodes all fields that are not pointers, even empty ones.
    let label = [text(1, "a"), text(2, "b")].concat();
    let parts = [text(1, name), text(2, ""), text(3, "n"), integer(7, 0), bytes(8, &[]), bytes(11, &label)];
    bytes(1, &parts.concat())
}

#[test]
fn kinds() {
    let meta = json!({"name": "x", "namespace": "n", "labels": {"a": "b"}});
    let entry = |key: &str, value: &str| [text(1, key), text(2, value)].concat();
    let secret =
        [metadata("x"), bytes(2, &entry("k", "v")), bytes(2, &entry("l", "")), text(3, "Opaque")].concat();
    let found = decode(&body("v1", "Secret", &secret), None).unwrap();
    let wanted = json!({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": "Opaque",
        "data": {"k": "dg==", "l": ""}});
    assert_eq!(found, wanted);

    let time = [integer(1, 1_767_225_600), integer(2, 123_456_000)].concat();
    let spec = [text(1, "me"), integer(2, 15), bytes(4, &time), integer(5, 0)].concat();
    let lease = [metadata("x"), bytes(2, &spec)].concat();
    let found = decode(&body("coordination.k8s.io/v1", "Lease", &lease), None).unwrap();
    let wanted = json!({"holderIdentity": "me", "leaseDurationSeconds": 15, "leaseTransitions": 0,
        "renewTime": "2026-01-01T00:00:00.123456Z"});
    assert_eq!(found["spec"], wanted);

    let options = [integer(1, 0), bytes(2, &text(1, "u")), text(4, "Foreground"), text(5, "All")].concat();
    let found = decode(&body("cluster.x-k8s.io/v1beta2", "DeleteOptions", &options), None).unwrap();
    let wanted = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u"}, "propagationPolicy": "Foreground", "dryRun": ["All"]});
    assert_eq!(found, wanted);

    let attributes = [text(1, "n"), text(2, "get"), text(5, "pods")].concat();
    let review = [bytes(1, &[]), bytes(2, &bytes(1, &attributes))].concat();
    let found = decode(&body("authorization.k8s.io/v1", "SelfSubjectAccessReview", &review), None).unwrap();
    let wanted = json!({"resourceAttributes": {"namespace": "n", "verb": "get", "resource": "pods"}});
    assert_eq!(found["spec"], wanted);
}

#[test]
fn the_kind_may_follow_from_the_path() {
    let found = decode(&body("", "", &metadata("x")), Some(("v1", "ConfigMap"))).unwrap();
    assert_eq!((&found["apiVersion"], &found["kind"]), (&json!("v1"), &json!("ConfigMap")));
}

#[test]
fn refusals() {
    let error = decode(b"{}", None).unwrap_err();
    assert!(error.contains("prefix"), "{error}");
    let error = decode(&body("v1", "PodPreset", &[]), None).unwrap_err();
    assert!(error.starts_with("PodPreset in v1 "), "{error}");
    let whole = body("v1", "ConfigMap", &metadata("x"));
    for length in 4..whole.len() {
        // A truncated body is either decoded or refused, but causes no panic.
        let _ = decode(&whole[..length], None);
    }
    assert!(decode(&body("v1", "ConfigMap", &[0x0a, 0xff]), None).is_err());
    assert!(decode(&body("v1", "ConfigMap", &[0xff; 11]), None).is_err());
}
