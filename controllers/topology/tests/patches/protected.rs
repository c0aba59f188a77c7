//! Fields that patches may not change, and where what they may change ends up.

use serde_json::{Value, json};

use crate::topology::support::Fixture;

const INFRASTRUCTURE: &str = "infrastructure.example.io/v1";

fn add(path: &str, value: Value) -> Value {
    json!({ "op": "add", "path": path, "value": value })
}

#[test]
fn a_control_plane_keeps_what_the_topology_decides() {
    let mut fixture = Fixture::new();
    let topology = &mut fixture.cluster["spec"]["topology"]["controlPlane"];
    topology["deletion"] = json!({ "nodeDrainTimeoutSeconds": 1 });
    topology["rollout"] = json!({ "after": "2026-01-01T00:00:00Z" });
    topology["readinessGates"] = json!([{ "conditionType": "A" }]);
    topology["taints"] = json!([{ "key": "k", "effect": "NoExecute", "propagation": "Always" }]);
    let before = fixture.desired().expect("there is no patch").control_plane;
    let machine = json!({ "infrastructureRef": "x", "readinessGates": [], "taints": [], "more": 1,
        "deletion": { "nodeDrainTimeoutSeconds": 9, "nodeDeletionTimeoutSeconds": 9 } });
    let stolen = json!({ "replicas": 9, "version": "v9.0.0", "rollout": { "after": "never" },
        "machineTemplate": { "metadata": { "labels": { "x": "y" } }, "spec": machine }, "mine": true });
    fixture.patch(
        INFRASTRUCTURE,
        "PlaneTemplate",
        json!({ "controlPlane": true }),
        json!([add("/spec/template/spec", stolen)]),
    );
    let after = fixture.desired().expect("it can be applied").control_plane;
    let kept = [
        "/spec/replicas",
        "/spec/version",
        "/spec/rollout/after",
        "/spec/machineTemplate/metadata",
        "/spec/machineTemplate/spec/infrastructureRef",
        "/spec/machineTemplate/spec/readinessGates",
        "/spec/machineTemplate/spec/taints",
        "/spec/machineTemplate/spec/deletion/nodeDrainTimeoutSeconds",
    ];
    for path in kept {
        assert!(before.pointer(path).is_some(), "{path}");
        assert_eq!(after.pointer(path), before.pointer(path), "{path}");
    }
    assert_eq!(
        (&after["spec"]["mine"], &after["spec"]["machineTemplate"]["spec"]["more"]),
        (&json!(true), &json!(1))
    );
    let timeout = "/spec/machineTemplate/spec/deletion/nodeDeletionTimeoutSeconds";
    assert_eq!(after.pointer(timeout), Some(&json!(9)), "nobody else decides about it");
    assert_eq!(after["spec"].get("config"), None, "the spec is replaced");
}

#[test]
fn labels_and_annotations_of_topologies_stay() {
    let mut fixture = Fixture::new();
    let stolen = json!({
        "labels": { "cluster.x-k8s.io/cluster-name": "other", "topology.cluster.x-k8s.io/deployment-name": "other", "mine": "1" },
        "annotations": { "cluster.x-k8s.io/cloned-from-name": "other", "mine": "1" },
    });
    let before = fixture.desired().expect("there is no patch");
    fixture.patch_infrastructure(json!([add("/spec/template/metadata", stolen.clone())]));
    let classes = json!({ "machineDeploymentClass": { "names": ["*"] } });
    let patches = json!([
        add("/metadata/labels", stolen["labels"].clone()),
        add("/metadata/annotations", stolen["annotations"].clone()),
        add("/metadata/name", json!("other")),
        add("/kind", json!("Other")),
    ]);
    fixture.patch("bootstrap.example.io/v1", "BootTemplate", classes, patches);
    let after = fixture.desired().expect("it can be applied");
    let template =
        |desired: &cluster_topology::Desired| desired.machine_deployments["md-0"].bootstrap_template.clone();
    for (before, after) in
        [(before.infrastructure.clone(), after.infrastructure.clone()), (template(&before), template(&after))]
    {
        let (mut expected, mut found) = (before.clone(), after.clone());
        for name in ["labels", "annotations"] {
            assert_eq!(found["metadata"][name]["mine"], "1");
            expected["metadata"][name] = Value::Null;
            found["metadata"][name] = Value::Null;
            for (key, value) in before["metadata"][name].as_object().expect("texts") {
                assert_eq!(&after["metadata"][name][key], value, "{key}");
            }
        }
        assert_eq!(found, expected, "nothing else of metadata, and no kind, is taken over");
    }
}

#[test]
fn labels_of_a_template_are_those_of_what_is_made_from_it() {
    let mut fixture = Fixture::new();
    let from = json!({ "template": "{{ .builtin.cluster.name }}" });
    let path = "/spec/template/metadata/labels/topology.cluster.x-k8s.io~1owned";
    fixture.patch_infrastructure(json!([
        { "op": "replace", "path": path, "value": "seen" },
        { "op": "add", "path": "/spec/template/metadata/labels/mine", "valueFrom": from },
    ]));
    let labels =
        fixture.desired().expect("patches see the labels").infrastructure["metadata"]["labels"].clone();
    assert_eq!(
        labels,
        json!({ "cluster.x-k8s.io/cluster-name": "c1", "topology.cluster.x-k8s.io/owned": "", "mine": "c1" })
    );
}

#[test]
fn a_template_keeps_the_metadata_of_its_machines() {
    let mut fixture = Fixture::new();
    let classes = json!({ "machineDeploymentClass": { "names": ["small"] } });
    let patches = json!([
        add("/spec/template/metadata", json!({ "annotations": { "a": "1" } })),
        add("/spec/more", json!(1))
    ]);
    fixture.patch(INFRASTRUCTURE, "MachineTemplate", classes, patches);
    let template = fixture.desired().expect("it can be applied").machine_deployments["md-0"]
        .infrastructure_template
        .clone();
    let expected =
        json!({ "template": { "spec": { "size": "small" }, "metadata": { "annotations": { "a": "1" } } } });
    assert_eq!(template["spec"], expected, "only spec.template is taken over");
}

#[test]
fn a_template_that_is_none_any_more_is_an_error() {
    let mut fixture = Fixture::new();
    fixture
        .patch_infrastructure(json!([{ "op": "replace", "path": "/spec/template/spec", "value": "text" }]));
    assert_eq!(fixture.desired().expect("a text is a value").infrastructure["spec"], "text");
    fixture.patch(
        INFRASTRUCTURE,
        "PlaneTemplate",
        json!({ "controlPlane": true }),
        json!([{ "op": "replace", "path": "/spec/template/spec", "value": "text" }]),
    );
    assert!(
        fixture.error().starts_with("PlaneTemplate ns/plane: spec.machineTemplate"),
        "{}",
        fixture.error()
    );
}

#[test]
fn an_endpoint_that_is_not_filled_in_belongs_to_the_provider() {
    let rows = [
        (json!({ "host": "", "port": 0 }), None),
        (json!({ "host": "h", "port": 0 }), Some(json!({ "host": "h" }))),
        (json!({ "host": "", "port": 6443 }), Some(json!({ "port": 6443 }))),
        (json!({ "host": "h", "port": 6443 }), Some(json!({ "host": "h", "port": 6443 }))),
    ];
    for (endpoint, expected) in rows {
        let mut fixture = Fixture::new();
        fixture.templates[0]["spec"]["template"]["spec"]["controlPlaneEndpoint"] = endpoint;
        let spec = fixture.desired().expect("there is no patch").infrastructure["spec"].clone();
        assert_eq!(spec.get("controlPlaneEndpoint"), expected.as_ref());
    }
}

#[test]
fn labels_that_are_none_are_an_error() {
    let classes = json!({ "machineDeploymentClass": { "names": ["small"] } });
    let row = |path: &str, value: Value| {
        let mut fixture = Fixture::new();
        fixture.patch("bootstrap.example.io/v1", "BootTemplate", classes.clone(), json!([add(path, value)]));
        fixture.desired().map(|desired| desired.machine_deployments["md-0"].bootstrap_template.clone())
    };
    for (path, value) in [
        ("/metadata/labels", json!("x")),
        ("/metadata/annotations", json!(["x"])),
        ("/metadata/labels", json!(1)),
    ] {
        let error = row(path, value).expect_err("it is no map").to_string();
        assert!(
            error.starts_with("BootTemplate ns/boot: metadata.") && error.contains("is not an object"),
            "{error}"
        );
    }
    // The API server says what is wrong with a label.
    let template = row("/metadata/labels/mine", json!(1)).expect("it is in a map");
    assert_eq!(template["metadata"]["labels"]["mine"], 1);
    // Null takes labels away, but not those of the topology.
    let template = row("/metadata/labels", json!(null)).expect_err("add needs a value").to_string();
    assert!(template.contains("exactly one of"), "{template}");
}
