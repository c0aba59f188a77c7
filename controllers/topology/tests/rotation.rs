//! When a template needs another name.

use cluster_topology::desired::Contract;
use cluster_topology::rotation::{metadata_changed, rotate, template_spec_changed};
use serde_json::{Value, json};

use crate::support::World;

fn template(spec: Value) -> Value {
    json!({ "kind": "T", "metadata": { "name": "t-1" }, "spec": { "template": { "spec": spec } } })
}

/// A template whose fields were applied by the topology.
fn applied(spec: Value, fields: Value) -> Value {
    let mut object = template(spec);
    object["metadata"]["managedFields"] = json!([
        { "manager": "kubectl", "operation": "Update", "fieldsV1": { "f:spec": { "f:template": { "f:spec": { "f:theirs": {} } } } } },
        { "manager": "capi-topology", "operation": "Apply", "fieldsV1": { "f:spec": { "f:template": { "f:spec": fields } } } },
    ]);
    object
}

#[test]
fn only_what_the_topology_decides_about_is_a_change() {
    let rows = [
        ("the same", json!({ "a": 1 }), json!({ "a": 1 }), false),
        ("a default", json!({ "a": 1, "b": 2 }), json!({ "a": 1 }), false),
        (
            "a default in an item of a list",
            json!({ "l": [{ "a": 1, "b": 2 }] }),
            json!({ "l": [{ "a": 1 }] }),
            false,
        ),
        ("null is absent", json!({}), json!({ "a": null }), false),
        ("another value", json!({ "a": 1 }), json!({ "a": 2 }), true),
        ("another type", json!({ "a": 1 }), json!({ "a": "1" }), true),
        ("a new field", json!({}), json!({ "a": 1 }), true),
        ("an empty object that chooses something", json!({}), json!({ "a": {} }), true),
        ("a longer list", json!({ "l": [1] }), json!({ "l": [1, 2] }), true),
        ("a shorter list", json!({ "l": [1, 2] }), json!({ "l": [1] }), true),
        ("another order", json!({ "l": [1, 2] }), json!({ "l": [2, 1] }), true),
    ];
    for (what, current, desired, expected) in rows {
        assert_eq!(template_spec_changed(&template(current), &template(desired)), expected, "{what}");
    }
}

#[test]
fn a_field_that_is_no_longer_wanted_is_a_change() {
    let fields = json!({ "f:a": {}, "f:o": { ".": {}, "f:b": {} } });
    let current = applied(json!({ "a": 1, "o": { "b": 2, "c": 3 }, "theirs": 4 }), fields);
    let rows = [
        ("all of it", json!({ "a": 1, "o": { "b": 2 } }), false),
        ("a field less", json!({ "o": { "b": 2 } }), true),
        ("a field less below", json!({ "a": 1, "o": {} }), true),
        ("an object less", json!({ "a": 1 }), true),
    ];
    for (what, desired, expected) in rows {
        assert_eq!(template_spec_changed(&current, &template(desired)), expected, "{what}");
    }
    let gone = applied(json!({ "o": { "b": 2 } }), json!({ "f:a": {}, "f:o": { "f:b": {} } }));
    assert!(
        !template_spec_changed(&gone, &template(json!({ "o": { "b": 2 } }))),
        "somebody else took it away"
    );
}

#[test]
fn labels_and_annotations_are_changed_in_place() {
    let with = |labels: Value| json!({ "metadata": { "name": "t", "labels": labels }, "spec": {} });
    let current = with(json!({ "a": "1", "theirs": "x" }));
    assert!(!metadata_changed(&current, &with(json!({ "a": "1" }))));
    assert!(metadata_changed(&current, &with(json!({ "a": "2" }))));
    assert!(metadata_changed(&current, &with(json!({ "b": "1" }))));
    assert!(!template_spec_changed(&current, &with(json!({ "b": "1" }))));
    let mut managed = current.clone();
    let fields = json!({ "f:metadata": { "f:labels": { "f:a": {} } } });
    managed["metadata"]["managedFields"] =
        json!([{ "manager": "capi-topology", "operation": "Apply", "fieldsV1": fields }]);
    assert!(metadata_changed(&managed, &with(json!({}))));
}

#[test]
fn a_new_name_goes_to_whoever_uses_the_template() {
    let mut desired = World::new().desired().expect("it can be made");
    let current = template(json!({}));
    let mut renamed = template(json!({ "a": 1 }));
    rotate(&current, &mut renamed, "t-2");
    assert_eq!(renamed["metadata"]["name"], "t-2");
    desired.rotate_control_plane_machines("c1", Contract::V1Beta2, &mut || "zzzzz".to_owned());
    let machines = desired.control_plane_machines_template.as_ref().expect("the class has one");
    assert_eq!(machines["metadata"]["name"], "c1-zzzzz");
    let reference = "/spec/machineTemplate/spec/infrastructureRef/name";
    assert_eq!(desired.control_plane.pointer(reference), Some(&json!("c1-zzzzz")));
    let workers = desired.machine_deployments.get_mut("md-0").expect("it is in the topology");
    workers.rotate_bootstrap("c1", "md-0", &mut || "yyyyy".to_owned());
    workers.rotate_infrastructure("c1", "md-0", &mut || "xxxxx".to_owned());
    assert_eq!(workers.bootstrap_template["metadata"]["name"], "c1-md-0-yyyyy");
    assert_eq!(workers.infrastructure_template["metadata"]["name"], "c1-md-0-xxxxx");
    let spec = &workers.object["spec"]["template"]["spec"];
    assert_eq!(spec["bootstrap"]["configRef"]["name"], "c1-md-0-yyyyy");
    assert_eq!(spec["infrastructureRef"]["name"], "c1-md-0-xxxxx");
}
