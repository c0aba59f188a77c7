//! Desired objects before patches.

use cluster_topology::desired::Contract;
use cluster_topology::{ControlPlane, Desired};
use serde_json::{Value, json};

use crate::topology::support::Fixture;

fn desired(fixture: &Fixture) -> Desired {
    fixture.unpatched().expect("it can be made")
}

#[test]
fn objects_of_a_new_cluster() {
    let desired = desired(&Fixture::new());
    assert_eq!(
        desired.infrastructure,
        json!({
            "apiVersion": "infrastructure.example.io/v1", "kind": "Infra",
            "metadata": {
                "name": "c1-aaaa0", "namespace": "ns",
                "labels": { "cluster.x-k8s.io/cluster-name": "c1", "topology.cluster.x-k8s.io/owned": "" },
                "annotations": {
                    "cluster.x-k8s.io/cloned-from-name": "infra",
                    "cluster.x-k8s.io/cloned-from-groupkind": "InfraTemplate.infrastructure.example.io",
                },
            },
            "spec": { "zone": "a" },
        })
    );
    let plane = &desired.control_plane;
    assert_eq!((&plane["kind"], &plane["spec"]["version"]), (&json!("Plane"), &json!("v1.35.0")));
    assert_eq!(plane["spec"]["replicas"], 3);
    let template = desired.control_plane_machines_template.as_ref().expect("the class has one");
    assert_eq!(
        plane["spec"]["machineTemplate"],
        json!({
            "metadata": { "labels": { "cluster.x-k8s.io/cluster-name": "c1", "topology.cluster.x-k8s.io/owned": "" } },
            "spec": { "infrastructureRef": {
                "apiGroup": "infrastructure.example.io", "kind": "MachineTemplate", "name": template["metadata"]["name"],
            } },
        })
    );
    assert_eq!(
        plane["metadata"].get("ownerReferences"),
        None,
        "it must not start before the Cluster refers to it"
    );
    let owner = json!([{ "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c1", "uid": "cluster-uid" }]);
    assert_eq!(template["metadata"]["ownerReferences"], owner);
    assert_eq!(template["metadata"].get("resourceVersion"), None);
    assert_eq!(desired.cluster["metadata"].get("annotations"), None);
    let reference = json!({ "apiGroup": "infrastructure.example.io", "kind": "Infra", "name": "c1-aaaa0" });
    assert_eq!(desired.cluster["spec"]["infrastructureRef"], reference);
    assert_eq!(desired.control_plane_health_check, None);
}

#[test]
fn workers_of_a_new_cluster() {
    let desired = desired(&Fixture::new());
    let workers = &desired.machine_deployments["md-0"];
    let labels = json!({
        "cluster.x-k8s.io/cluster-name": "c1",
        "topology.cluster.x-k8s.io/owned": "",
        "topology.cluster.x-k8s.io/deployment-name": "md-0",
    });
    let name = |object: &Value| object["metadata"]["name"].clone();
    let (bootstrap, machines) = (&workers.bootstrap_template, &workers.infrastructure_template);
    assert_eq!(workers.object["metadata"]["labels"], labels);
    assert_eq!(bootstrap["metadata"]["labels"], labels);
    assert!(name(bootstrap).as_str().is_some_and(|name| name.starts_with("c1-md-0-aaaa")));
    assert_eq!(
        workers.object["spec"],
        json!({
            "clusterName": "c1", "replicas": 2, "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": {
                    "clusterName": "c1", "version": "v1.35.0",
                    "bootstrap": { "configRef": { "apiGroup": "bootstrap.example.io", "kind": "BootTemplate", "name": name(bootstrap) } },
                    "infrastructureRef": { "apiGroup": "infrastructure.example.io", "kind": "MachineTemplate", "name": name(machines) },
                },
            },
        })
    );
    let pool = &desired.machine_pools["mp-0"];
    assert_eq!(
        (&pool.bootstrap_template["kind"], &pool.infrastructure_template["kind"]),
        (&json!("Boot"), &json!("Pool"))
    );
    assert_eq!(pool.object["metadata"]["labels"]["topology.cluster.x-k8s.io/pool-name"], "mp-0");
    assert_eq!(pool.infrastructure_template["metadata"]["ownerReferences"][0]["kind"], "Cluster");
    assert_eq!(pool.object["spec"]["template"]["spec"]["infrastructureRef"]["kind"], "Pool");
    assert_eq!((&pool.object["spec"]["replicas"], &pool.health_check), (&json!(1), &None));
}

#[test]
fn replicas_that_the_topology_does_not_name_belong_to_somebody_else() {
    let mut fixture = Fixture::new();
    let topology = &mut fixture.cluster["spec"]["topology"];
    topology["controlPlane"] = json!({});
    topology["workers"]["machineDeployments"][0] = json!({ "class": "small", "name": "md-0" });
    topology["workers"]["machinePools"][0] = json!({ "class": "pool", "name": "mp-0" });
    let desired = desired(&fixture);
    assert_eq!(desired.control_plane["spec"].get("replicas"), None);
    assert_eq!(desired.machine_deployments["md-0"].object["spec"].get("replicas"), None);
    assert_eq!(desired.machine_pools["mp-0"].object["spec"].get("replicas"), None);
}

#[test]
fn the_topology_wins_over_the_class() {
    let mut fixture = Fixture::new();
    let metadata = |who: &str| json!({ "labels": { "both": who, who: "1" }, "annotations": { "both": who } });
    fixture.class["spec"]["controlPlane"]["metadata"] = metadata("class");
    fixture.cluster["spec"]["topology"]["controlPlane"]["metadata"] = metadata("topology");
    fixture.templates[1]["spec"]["template"]["spec"]["machineTemplate"] =
        json!({ "metadata": { "labels": { "both": "template" } } });
    fixture.templates[1]["spec"]["template"]["metadata"] =
        json!({ "labels": { "own": "1", "both": "template" } });
    fixture.templates[1]["metadata"]["annotations"] = json!({ "of-the-template": "x" });
    let plane = desired(&fixture).control_plane;
    let labels = &plane["metadata"]["labels"];
    assert_eq!(
        (&labels["both"], &labels["class"], &labels["topology"], &labels["own"]),
        (&json!("topology"), &json!("1"), &json!("1"), &json!("1"))
    );
    let machines = &plane["spec"]["machineTemplate"]["metadata"];
    assert_eq!(
        (&machines["labels"]["both"], &machines["labels"]["topology"]),
        (&json!("topology"), &json!("1"))
    );
    assert_eq!(machines["annotations"], json!({ "both": "topology" }));
    assert_eq!(plane["metadata"]["annotations"].get("of-the-template"), None);
}

/// Sets a field of the class and of the topology, and returns what the MachineDeployment gets.
fn of_both(path: &str, class: Value, topology: Value) -> Value {
    let mut fixture = Fixture::new();
    for (object, value) in [
        (&mut fixture.class["spec"]["workers"]["machineDeployments"][0], class),
        (&mut fixture.cluster["spec"]["topology"]["workers"]["machineDeployments"][0], topology),
    ] {
        if !value.is_null() {
            object[path] = value;
        }
    }
    desired(&fixture).machine_deployments["md-0"].object["spec"].clone()
}

#[test]
fn fields_of_workers() {
    let machine = |spec: &Value, name: &str| spec["template"]["spec"][name].clone();
    let gate = |name: &str| json!([{ "conditionType": name }]);
    let taint = |key: &str| json!([{ "key": key, "effect": "NoSchedule", "propagation": "Always" }]);
    for (field, class, topology) in [
        ("minReadySeconds", json!(1), json!(2)),
        ("failureDomain", json!("a"), json!("b")),
        ("readinessGates", gate("A"), gate("B")),
        ("taints", taint("a"), taint("b")),
    ] {
        assert_eq!(machine(&of_both(field, class.clone(), Value::Null), field), class);
        assert_eq!(machine(&of_both(field, class, topology.clone()), field), topology);
    }
    let class = json!({ "order": "Oldest", "nodeDrainTimeoutSeconds": 1, "nodeDeletionTimeoutSeconds": 2 });
    let spec = of_both(
        "deletion",
        class,
        json!({ "order": "Newest", "nodeDrainTimeoutSeconds": 3, "nodeVolumeDetachTimeoutSeconds": 0 }),
    );
    assert_eq!(spec["deletion"], json!({ "order": "Newest" }));
    let timeouts = json!({ "nodeDrainTimeoutSeconds": 3, "nodeVolumeDetachTimeoutSeconds": 0, "nodeDeletionTimeoutSeconds": 2 });
    assert_eq!(machine(&spec, "deletion"), timeouts, "each of them by itself, and 0 is a value");
    let strategy = json!({ "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 2 } } });
    assert_eq!(of_both("rollout", strategy.clone(), Value::Null)["rollout"], strategy);
    let after = json!({ "after": "2026-01-01T00:00:00Z" });
    assert_eq!(
        of_both("rollout", strategy, after.clone())["rollout"],
        after,
        "the topology replaces all of it"
    );
    let in_flight = |number: i32| json!({ "remediation": { "maxInFlight": number } });
    assert_eq!(of_both("healthCheck", in_flight(1), Value::Null)["remediation"], json!({ "maxInFlight": 1 }));
    assert_eq!(
        of_both("healthCheck", in_flight(1), in_flight(2))["remediation"],
        json!({ "maxInFlight": 2 })
    );
}

#[test]
fn annotations_that_control_upgrades_reach_no_object() {
    let annotations = json!({ "annotations": {
        "topology.cluster.x-k8s.io/defer-upgrade": "", "topology.cluster.x-k8s.io/hold-upgrade-sequence": "", "kept": "1",
    } });
    let mut fixture = Fixture::new();
    let workers = &mut fixture.cluster["spec"]["topology"]["workers"];
    workers["machineDeployments"][0]["metadata"] = annotations.clone();
    workers["machinePools"][0]["metadata"] = annotations;
    let desired = desired(&fixture);
    for object in [&desired.machine_deployments["md-0"].object, &desired.machine_pools["mp-0"].object] {
        assert_eq!(object["metadata"]["annotations"], json!({ "kept": "1" }));
        assert_eq!(object["spec"]["template"]["metadata"]["annotations"], json!({ "kept": "1" }));
    }
}

#[test]
fn fields_of_the_control_plane_in_both_contracts() {
    let mut fixture = Fixture::new();
    let class = &mut fixture.class["spec"]["controlPlane"];
    class["deletion"] = json!({ "nodeDrainTimeoutSeconds": 90, "nodeDeletionTimeoutSeconds": 5 });
    class["readinessGates"] = json!([{ "conditionType": "A" }]);
    let topology = &mut fixture.cluster["spec"]["topology"]["controlPlane"];
    topology["deletion"] = json!({ "nodeDeletionTimeoutSeconds": 6 });
    topology["rollout"] = json!({ "after": "2026-01-01T00:00:00Z" });
    topology["taints"] = json!([{ "key": "k", "effect": "NoExecute", "propagation": "Always" }]);
    let spec = desired(&fixture).control_plane["spec"].clone();
    let machine = &spec["machineTemplate"]["spec"];
    assert_eq!(
        machine["deletion"],
        json!({ "nodeDrainTimeoutSeconds": 90, "nodeDeletionTimeoutSeconds": 6 })
    );
    assert_eq!(
        (&machine["readinessGates"][0]["conditionType"], &machine["taints"][0]["key"]),
        (&json!("A"), &json!("k"))
    );
    assert_eq!(spec["rollout"]["after"], "2026-01-01T00:00:00Z");
    fixture.contract = Contract::V1Beta1;
    let spec = desired(&fixture).control_plane["spec"].clone();
    assert_eq!((&spec["rolloutAfter"], &spec["rollout"]), (&json!("2026-01-01T00:00:00Z"), &Value::Null));
    let template = &spec["machineTemplate"];
    assert_eq!(
        (&template["nodeDrainTimeout"], &template["nodeDeletionTimeout"]),
        (&json!("1m30s"), &json!("6s"))
    );
    assert_eq!(
        (&template["readinessGates"][0]["conditionType"], &template["taints"][0]["key"]),
        (&json!("A"), &json!("k"))
    );
    let reference = &template["infrastructureRef"];
    assert_eq!(
        (&reference["apiVersion"], &reference["namespace"]),
        (&json!("infrastructure.example.io/v1"), &json!("ns"))
    );
    // The control plane's controller has raised the version, which is kept.
    let mut current = fixture.current();
    let object = json!({ "spec": { "version": "v1.35.0", "machineTemplate": { "infrastructureRef": {
        "apiVersion": "infrastructure.example.io/v2", "kind": "MachineTemplate", "name": "c1-old",
    } } } });
    current.control_plane = Some(ControlPlane { object, machines_template: None, health_check: None });
    fixture.current = Some(current);
    let reference = desired(&fixture).control_plane["spec"]["machineTemplate"]["infrastructureRef"].clone();
    assert_eq!(
        (&reference["apiVersion"], &reference["name"]),
        (&json!("infrastructure.example.io/v2"), &json!("c1-old"))
    );
}

#[test]
fn health_checks() {
    let checks = |seconds: i32| json!({ "unhealthyNodeConditions": [{ "type": "Ready", "status": "False", "timeoutSeconds": seconds }] });
    let class_check =
        json!({ "checks": checks(1), "remediation": { "triggerIf": { "unhealthyInRange": "[1-2]" } } });
    // topology, class, seconds of the condition that is checked
    let rows = [
        (Value::Null, Value::Null, None),
        (Value::Null, class_check.clone(), Some(1)),
        (json!({ "enabled": true }), class_check.clone(), Some(1)),
        (json!({ "enabled": false }), class_check.clone(), None),
        (json!({ "checks": checks(2) }), class_check.clone(), Some(2)),
        (json!({ "checks": checks(2) }), Value::Null, Some(2)),
        (json!({ "checks": checks(2), "enabled": false }), class_check.clone(), None),
        (json!({ "enabled": true }), Value::Null, None),
        (json!({ "checks": {} }), class_check, Some(1)),
    ];
    for (topology, class, expected) in rows {
        let mut fixture = Fixture::new();
        if !class.is_null() {
            fixture.class["spec"]["controlPlane"]["healthCheck"] = class.clone();
            fixture.class["spec"]["workers"]["machineDeployments"][0]["healthCheck"] = class.clone();
        }
        if !topology.is_null() {
            fixture.cluster["spec"]["topology"]["controlPlane"]["healthCheck"] = topology.clone();
            fixture.cluster["spec"]["topology"]["workers"]["machineDeployments"][0]["healthCheck"] =
                topology.clone();
        }
        let desired = desired(&fixture);
        let workers = &desired.machine_deployments["md-0"];
        for (check, target, selector) in [
            (&desired.control_plane_health_check, &desired.control_plane, "cluster.x-k8s.io/control-plane"),
            (&workers.health_check, &workers.object, "topology.cluster.x-k8s.io/deployment-name"),
        ] {
            let seconds = |check: &Value| {
                check["spec"]["checks"]["unhealthyNodeConditions"][0]["timeoutSeconds"].as_i64()
            };
            assert_eq!(check.as_ref().and_then(seconds), expected, "{topology} {class}");
            let Some(check) = check else { continue };
            assert_eq!(check["metadata"]["name"], target["metadata"]["name"]);
            assert_eq!(check["spec"]["checks"]["nodeStartupTimeoutSeconds"], 600, "the default of admission");
            let labels = check["spec"]["selector"]["matchLabels"].as_object().expect("labels");
            assert!(
                labels.len() == 2
                    && labels.contains_key(selector)
                    && labels.contains_key("topology.cluster.x-k8s.io/owned")
            );
        }
    }
    let mut fixture = Fixture::new();
    fixture.class["spec"]["controlPlane"]["healthCheck"] = json!({ "checks": checks(1) });
    fixture.class["spec"]["controlPlane"]["machineInfrastructure"] = Value::Null;
    assert_eq!(desired(&fixture).control_plane_health_check, None, "there are no machines to check");
}

#[test]
fn names_come_from_templates_and_fit() {
    let mut fixture = Fixture::new();
    fixture.class["spec"]["infrastructure"]["naming"] = json!({ "template": "infra-{{ .cluster.name }}" });
    fixture.class["spec"]["controlPlane"]["naming"] =
        json!({ "template": "{{ .cluster.name }}-plane-{{ .random }}" });
    let workers = &mut fixture.class["spec"]["workers"];
    workers["machineDeployments"][0]["naming"] =
        json!({ "template": "{{ .machineDeployment.topologyName }}.{{ .random }}" });
    workers["machinePools"][0]["naming"] =
        json!({ "template": "{{ .machinePool.topologyName }}.{{ .random }}" });
    let made = desired(&fixture);
    let name = |object: &Value| object["metadata"]["name"].as_str().expect("a name").to_owned();
    assert_eq!(name(&made.infrastructure), "infra-c1");
    assert!(name(&made.control_plane).starts_with("c1-plane-aaaa"));
    assert!(name(&made.machine_deployments["md-0"].object).starts_with("md-0.aaaa"));
    assert!(name(&made.machine_pools["mp-0"].object).starts_with("mp-0.aaaa"));
    let long = "l".repeat(60);
    fixture.cluster["metadata"]["name"] = json!(long);
    let made = desired(&fixture);
    assert_eq!(name(&made.infrastructure), format!("infra-{}aaaa1", &long[..52]));
    let names = [
        name(&made.control_plane),
        name(made.control_plane_machines_template.as_ref().expect("the class has one")),
        name(&made.machine_deployments["md-0"].bootstrap_template),
    ];
    for name in names {
        assert!(
            name.len() == 63 && name.starts_with(&long[..57]) && name[58..].starts_with("aaaa"),
            "{name}"
        );
    }
    fixture.class["spec"]["infrastructure"]["naming"] =
        json!({ "template": "{{ .machineDeployment.topologyName }}" });
    let error = fixture.unpatched().expect_err("there is no such value");
    assert!(error.starts_with("spec.infrastructure.naming.template of the ClusterClass: "), "{error}");
}

#[test]
fn what_exists_keeps_its_name() {
    let mut fixture = Fixture::new();
    let spec = &mut fixture.cluster["spec"];
    spec["infrastructureRef"] =
        json!({ "apiGroup": "infrastructure.example.io", "kind": "Infra", "name": "my-infra" });
    spec["controlPlaneRef"] = json!({ "apiGroup": "x", "kind": "Plane", "name": "my-plane" });
    let mut current = fixture.current();
    let object = json!({ "spec": { "version": "v1.35.0", "machineTemplate": { "spec": { "infrastructureRef": { "name": "my-machines" } } } } });
    current.control_plane = Some(ControlPlane { object, machines_template: None, health_check: None });
    let named = |name: &str| json!({ "metadata": { "name": name } });
    let deployment = json!({ "metadata": { "name": "my-md" }, "spec": { "template": { "spec": { "version": "v1.34.0" } } } });
    let workers = cluster_topology::Workers {
        object: std::sync::Arc::new(crate::topology::support::typed(&deployment)),
        bootstrap_template: named("my-boot"),
        infrastructure_template: named("my-template"),
        health_check: None,
        is_upgrading: false,
    };
    current.machine_deployments.insert("md-0".to_owned(), workers);
    fixture.current = Some(current);
    let desired = desired(&fixture);
    let name = |object: &Value| object["metadata"]["name"].as_str().expect("a name").to_owned();
    let workers = &desired.machine_deployments["md-0"];
    let machines = desired.control_plane_machines_template.as_ref().expect("the class has one");
    let names = [
        &desired.infrastructure,
        &desired.control_plane,
        machines,
        &workers.object,
        &workers.bootstrap_template,
        &workers.infrastructure_template,
    ];
    assert_eq!(names.map(name), ["my-infra", "my-plane", "my-machines", "my-md", "my-boot", "my-template"]);
    assert_eq!(
        workers.object["spec"]["template"]["spec"]["version"], "v1.34.0",
        "the control plane is provisioning"
    );
}

#[test]
fn bad_classes_are_an_error_that_says_where() {
    let mut fixture = Fixture::new();
    fixture.cluster["spec"]["topology"]["workers"]["machineDeployments"][0]["class"] = json!("none");
    let error = fixture.unpatched().expect_err("there is no such class");
    let text = "spec.topology.workers.machineDeployments[0].class: the ClusterClass ns/base has no such class of MachineDeployments: \"none\"";
    assert_eq!(error, text);
    let mut fixture = Fixture::new();
    fixture.templates[0]["spec"]["template"] = json!("x");
    let error = fixture.unpatched().expect_err("it is no template");
    assert_eq!(error, "InfraTemplate ns/infra: spec.template is not an object");
    let mut fixture = Fixture::new();
    fixture.templates[1]["spec"]["template"]["spec"] = json!(["x"]);
    let error = fixture.unpatched().expect_err("it is no spec");
    assert!(error.starts_with("PlaneTemplate ns/plane: spec.machineTemplate"), "{error}");
    let mut fixture = Fixture::new();
    fixture.templates[0]["spec"] = Value::Null;
    assert_eq!(desired(&fixture).infrastructure.get("spec"), None, "a template without content is one, too");
}
