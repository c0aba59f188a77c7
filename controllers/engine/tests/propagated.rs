//! Tests of `engine::propagated`.

use std::collections::BTreeSet;

use engine::in_place::UPDATE_IN_PROGRESS;
use engine::propagated::{Removed, is_owned_by};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

fn meta(labels: Value, annotations: Value) -> ObjectMeta {
    let meta = json!({"labels": labels, "annotations": annotations});
    serde_json::from_value(meta).expect("metadata")
}

#[test]
fn only_what_the_machine_has_too_is_removed() {
    let machine = meta(json!({"a": "1", "b": "1", "c": "1"}), json!({"note": "x"}));
    let part = meta(json!({"a": "1", "b": "2", "c": "1", "d": "1"}), json!({"note": "x", "cloned": "y"}));
    let wanted = meta(json!({"c": "2"}), json!({}));
    let removed = Removed::of(&machine, &part, &wanted).expect("something is removed");
    assert_eq!(removed.labels, BTreeSet::from(["a".to_owned()]));
    assert_eq!(removed.annotations, BTreeSet::from(["note".to_owned()]));
    let all = meta(json!({"a": "1", "b": "1", "c": "1"}), json!({"note": "x"}));
    assert_eq!(Removed::of(&machine, &part, &all), None);
    let updated = meta(json!({"a": "1"}), json!({UPDATE_IN_PROGRESS: ""}));
    assert_eq!(Removed::of(&updated, &part, &wanted), None);
}

#[test]
fn what_others_own_stays() {
    let entry = |manager: &str, key: &str| json!({"manager": manager, "fieldsV1": {"f:metadata": {"f:labels": {format!("f:{key}"): {}}}}});
    let object = json!({"metadata": {"managedFields":
        [entry("capi-machineset", "a"), entry("capi-machineset", "b"), entry("kubectl", "b"), entry("kubectl", "c")]}});
    let owned =
        ["a", "b", "c", "d"].map(|key| is_owned_by(&object, "labels", key, &["capi-machineset", "other"]));
    assert_eq!(owned, [true, false, false, false]);
}
