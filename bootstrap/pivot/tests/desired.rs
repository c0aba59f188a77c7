//! Tests of `pivot::desired`.

use pivot::desired::{Identities, desired};
use pivot::inventory::Item;
use pivot::journal::Before;
use pivot::kinds::Kind;
use pivot::names;
use pivot::object::Object;
use serde_json::{Value, json};

fn item(value: &Value) -> Item {
    let kind = Kind {
        group: names::CLUSTER_GROUP.into(),
        version: "v1beta2".into(),
        kind: value["kind"].as_str().unwrap().into(),
        plural: "clusters".into(),
        namespaced: true,
        status: true,
        moves: false,
        moves_hierarchy: true,
        hands_over: false,
    };
    let (object, _) = Object::parse(&kind, &value.to_string()).unwrap();
    Item { object, kind: 0, fingerprint: 0, held: None }
}

#[test]
fn owners_are_rewritten_or_wait() {
    let source = json!({"kind": "Machine", "metadata": {"name": "m", "uid": "m1", "resourceVersion": "9",
        "ownerReferences": [{"uid": "a1", "name": "a", "controller": true}, {"uid": "b1"}, {"uid": "stranger"}]}});
    let mut identities = Identities::default();
    identities.at_target.insert("a1".into(), "a2".into());
    identities.moving.extend(["a1".to_owned(), "b1".to_owned()]);
    let wanted = desired(&item(&source), None, &identities);
    assert!(wanted.waits_for_owners);
    assert_eq!(
        wanted.object["metadata"],
        json!({"name": "m", "ownerReferences": [{"uid": "a2", "name": "a", "controller": true}]})
    );
}

#[test]
fn managers_and_pauses() {
    let managers = json!([
        {"manager": "ssa", "operation": "Apply"},
        {"manager": "capi", "operation": "Update", "subresource": "status"},
        {"manager": "kubectl", "operation": "Update"},
    ]);
    let source = json!({"kind": "Cluster", "metadata": {"name": "c", "managedFields": managers}});
    let wanted = desired(&item(&source), None, &Identities::default());
    assert_eq!((wanted.manager(), wanted.status_manager()), ("kubectl", "capi"));
    assert!(wanted.object["spec"]["paused"].is_null());
    let before = Before {
        object: item(&source).object.key,
        paused: Value::Null,
        managed_fields: json!([{"manager": "first", "operation": "Update"}]),
    };
    let wanted = desired(&item(&source), Some(&before), &Identities::default());
    assert_eq!(wanted.manager(), "first");
    assert_eq!(wanted.object["spec"]["paused"], true);
}

#[test]
fn managers_keep_their_owner_references() {
    let source = json!({"kind": "Machine", "metadata": {"name": "m", "managedFields": [{"manager": "m",
        "fieldsV1": {"f:metadata": {"f:ownerReferences": {".": {}, "k:{\"uid\":\"a1\"}": {}}}}}]}});
    let mut identities = Identities::default();
    identities.at_target.insert("a1".into(), "a2".into());
    let wanted = desired(&item(&source), None, &identities);
    let owners = &wanted.managed_fields[0]["fieldsV1"]["f:metadata"]["f:ownerReferences"];
    assert_eq!(*owners, json!({".": {}, "k:{\"uid\":\"a2\"}": {}}));
}

#[test]
fn what_was_observed_stays_observed() {
    let source = json!({"kind": "Machine", "metadata": {"name": "m", "generation": 5}, "status": {
        "observedGeneration": 5, "conditions": [{"type": "A", "observedGeneration": 4}], "x": 1}});
    let wanted = desired(&item(&source), None, &Identities::default());
    let expected = json!({"observedGeneration": 1, "conditions": [{"type": "A"}], "x": 1});
    assert_eq!(wanted.status(1), Some(expected));
    let later =
        json!({"observedGeneration": 3, "conditions": [{"type": "A", "observedGeneration": 2}], "x": 1});
    assert_eq!(wanted.status(3), Some(later));
}
