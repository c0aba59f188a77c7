//! The variables that patches see.

use serde_json::{Value, json};

use crate::topology::support::Fixture;

/// The value of a template in a patch for each part: its names with the value.
fn seen(fixture: &Fixture, template: &str) -> Vec<(&'static str, Value)> {
    let mut fixture = fixture.clone();
    let patch = || json!([{ "op": "add", "path": "/spec/template/spec/seen", "valueFrom": { "template": template } }]);
    let infrastructure = "infrastructure.example.io/v1";
    fixture.patch_infrastructure(patch());
    fixture.patch(infrastructure, "PlaneTemplate", json!({ "controlPlane": true }), patch());
    fixture.patch(
        infrastructure,
        "MachineTemplate",
        json!({ "controlPlane": true, "machineDeploymentClass": { "names": ["*"] } }),
        patch(),
    );
    fixture.patch(infrastructure, "PoolTemplate", json!({ "machinePoolClass": { "names": ["*"] } }), patch());
    let desired = fixture.desired().expect("it can be rendered");
    let machines = desired.control_plane_machines_template.as_ref().expect("the class has one");
    let deployment = &desired.machine_deployments["md-0"].infrastructure_template;
    let template = |object: &Value| object["spec"]["template"]["spec"]["seen"].clone();
    vec![
        ("infrastructure", desired.infrastructure["spec"]["seen"].clone()),
        ("plane", desired.control_plane["spec"]["seen"].clone()),
        ("plane machines", template(machines)),
        ("deployment", template(deployment)),
        ("pool", desired.machine_pools["mp-0"].infrastructure_template["spec"]["seen"].clone()),
    ]
}

#[test]
fn overrides_win_in_their_part() {
    let mut fixture = Fixture::new();
    fixture.variable("v", "inline", json!("all"));
    let overrides = |value: &str| json!({ "overrides": [{ "name": "v", "value": value }] });
    let topology = &mut fixture.cluster["spec"]["topology"];
    topology["controlPlane"]["variables"] = overrides("plane");
    topology["workers"]["machineDeployments"][0]["variables"] = overrides("deployment");
    topology["workers"]["machinePools"][0]["variables"] = overrides("pool");
    let values: Vec<_> = seen(&fixture, "{{ .v }}").into_iter().map(|(_, value)| value).collect();
    assert_eq!(values, ["all", "plane", "plane", "deployment", "pool"]);
}

#[test]
fn only_variables_that_are_defined_inline_are_seen() {
    let mut fixture = Fixture::new();
    fixture.variable("theirs", "external", json!("x"));
    fixture.variable("builtin", "inline", json!({ "cluster": { "name": "stolen" } }));
    fixture.cluster["spec"]["topology"]["variables"]
        .as_array_mut()
        .expect("a list")
        .push(json!({ "name": "undefined", "value": 1 }));
    let values = seen(&fixture, "{{ .theirs }} {{ .undefined }} {{ .builtin.cluster.name }}");
    assert_eq!(values[0].1, "<no value> <no value> c1");
    fixture.patch_infrastructure(
        json!([{ "op": "add", "path": "/spec/template/spec/x", "valueFrom": { "variable": "theirs" } }]),
    );
    assert!(fixture.error().contains("the variable \"theirs\" has no value"), "{}", fixture.error());
}

#[test]
fn builtin_describes_the_cluster_and_the_part() {
    let mut fixture = Fixture::new();
    fixture.cluster["metadata"]["annotations"] = json!({ "mine": "1", "kubectl.kubernetes.io/last-applied-configuration": "{}", "cluster.x-k8s.io/conversion-data": "{}" });
    fixture.cluster["metadata"]["labels"] = json!({ "l": "1" });
    fixture.cluster["spec"]["clusterNetwork"] = json!({ "serviceDomain": "d", "services": { "cidrBlocks": ["10.0.0.0/16"] }, "pods": { "cidrBlocks": ["10.1.0.0/16"] } });
    fixture.cluster["spec"]["topology"]["workers"]["machineDeployments"][0]["metadata"] =
        json!({ "annotations": { "a": "1" } });
    let seen = seen(&fixture, "{{ toJson .builtin }}");
    let owned = json!({ "cluster.x-k8s.io/cluster-name": "c1", "topology.cluster.x-k8s.io/owned": "" });
    let with = |name: &str, value: &str| {
        let mut labels = owned.clone();
        labels[name] = json!(value);
        labels
    };
    let cluster = json!({
        "name": "c1", "namespace": "ns", "uid": "cluster-uid",
        "metadata": { "labels": with("l", "1"), "annotations": { "mine": "1" } },
        "topology": { "version": "v1.35.0", "class": "base", "classNamespace": "ns", "classRef": { "name": "base", "namespace": "ns" } },
        "network": { "serviceDomain": "d", "services": ["10.0.0.0/16"], "pods": ["10.1.0.0/16"] },
    });
    assert_eq!(seen[0].1, json!({ "cluster": cluster }));
    let desired = fixture.desired().expect("there is no patch");
    let name = |object: &Value| object["metadata"]["name"].clone();
    let plane = json!({
        "version": "v1.35.0", "name": name(&desired.control_plane), "replicas": 3,
        "metadata": { "labels": owned, "annotations": desired.control_plane["metadata"]["annotations"] },
        "machineTemplate": { "infrastructureRef": { "name": name(desired.control_plane_machines_template.as_ref().expect("one")) } },
    });
    assert_eq!(seen[1].1, json!({ "cluster": cluster, "controlPlane": plane }));
    assert_eq!(seen[2].1, seen[1].1);
    let workers = |workers: &cluster_topology::DesiredWorkers, class: &str, topology: &str, label: &str| {
        let mut metadata = json!({ "labels": with(label, topology) });
        if let Some(annotations) = workers.object["metadata"].get("annotations") {
            metadata["annotations"] = annotations.clone();
        }
        json!({
            "version": "v1.35.0", "class": class, "name": name(&workers.object), "topologyName": topology,
            "replicas": workers.object["spec"]["replicas"], "metadata": metadata,
            "bootstrap": { "configRef": { "name": name(&workers.bootstrap_template) } },
            "infrastructureRef": { "name": name(&workers.infrastructure_template) },
        })
    };
    let deployment = workers(
        &desired.machine_deployments["md-0"],
        "small",
        "md-0",
        "topology.cluster.x-k8s.io/deployment-name",
    );
    assert_eq!(seen[3].1, json!({ "cluster": cluster, "machineDeployment": deployment }));
    let pool = workers(&desired.machine_pools["mp-0"], "pool", "mp-0", "topology.cluster.x-k8s.io/pool-name");
    assert_eq!(seen[4].1, json!({ "cluster": cluster, "machinePool": pool }));
}

#[test]
fn builtin_has_only_what_the_topology_decides() {
    let mut fixture = Fixture::new();
    fixture.cluster["spec"]["topology"]["controlPlane"] = json!({});
    fixture.cluster["spec"]["topology"]["classRef"]["namespace"] = json!("classes");
    fixture.templates[1]["spec"]["template"]["spec"]["replicas"] = json!(7);
    let template = "{{ hasKey .builtin \"controlPlane\" }} {{ with .builtin.controlPlane }}{{ hasKey . \"replicas\" }}{{ end }} {{ .builtin.cluster.topology.classNamespace }}";
    let seen = seen(&fixture, template);
    assert_eq!((&seen[0].1, &seen[1].1), (&json!("false  classes"), &json!("true false classes")));
}
