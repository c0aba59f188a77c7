//! Tests of the rules of `spec.topology`.

use schemas::admission::{Fact, Facts, Running, check, class_key, set_defaults, upgrades};
use schemas::cluster::{ClusterClass, Machine, MachineDeployment, MachinePool};
use serde::Deserialize;
use serde_json::{Value, json};

use super::cluster_class::good as good_class;
use super::{ALL, merge, summary};

const GROUP: &str = "cluster.x-k8s.io";

fn good() -> Value {
    json!({
        "metadata": { "name": "demo", "namespace": "one", "generation": 3 },
        "spec": {
            "controlPlaneRef": { "apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "demo" },
            "topology": {
                "classRef": { "name": "base" },
                "version": "v1.35.0",
                "workers": {
                    "machineDeployments": [{ "class": "worker", "name": "md-0" }],
                    "machinePools": [{ "class": "pool", "name": "mp-0" }],
                },
            },
        },
    })
}

fn with_class(change: &Value) -> Facts {
    let mut class = good_class();
    merge(&mut class, change);
    Facts {
        class: Fact::Known(Some(Box::new(ClusterClass::deserialize(&class).unwrap()))),
        ..Facts::of_empty_server()
    }
}

fn topology(change: Value) -> Value {
    json!({ "spec": { "topology": change } })
}

fn workers(change: Value) -> Value {
    let mut part = json!({ "class": "worker", "name": "md-0" });
    merge(&mut part, &change);
    topology(json!({ "workers": { "machineDeployments": [part] } }))
}

fn answer(change: &Value, old: Option<&Value>, facts: &Facts) -> (Vec<String>, Vec<String>) {
    let mut new = good();
    merge(&mut new, change);
    let defaults = set_defaults(GROUP, "Cluster", &mut new, old, facts);
    if let Err(errors) = defaults {
        return (summary(Err(errors)), Vec::new());
    }
    match check(GROUP, "Cluster", &new, old, false, ALL, facts) {
        Ok(warnings) => (Vec::new(), warnings),
        Err(errors) => (summary(Err(errors)), Vec::new()),
    }
}

/// A row: name, changes of the Cluster and of the class, and the expected errors.
type Case<'a> = (&'a str, Value, Value, &'a [&'a str]);

fn created(cases: &[Case<'_>]) {
    for (name, change, class, expected) in cases {
        let (errors, warnings) = answer(change, None, &with_class(class));
        assert_eq!(errors, *expected, "{name}");
        assert_eq!(warnings, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn what_a_topology_may_say() {
    let concurrency = |text: &str| json!({ "metadata": { "annotations": { "topology.cluster.x-k8s.io/upgrade-concurrency": text } } });
    let at_concurrency: &[&str] =
        &["metadata.annotations[topology.cluster.x-k8s.io/upgrade-concurrency]: Invalid"];
    let autoscaled =
        json!({ "annotations": { "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "9" } });
    let md = |rest: &str| format!("spec.topology.workers.machineDeployments[md-0].{rest}");
    let cases: &[Case<'_>] = &[
        ("good", json!({}), json!({}), &[]),
        (
            "no class",
            topology(json!({ "classRef": { "name": "" } })),
            json!({}),
            &["spec.topology.classRef.name: Required"],
        ),
        ("without v", topology(json!({ "version": "1.35.0" })), json!({}), &[]),
        (
            "two numbers",
            topology(json!({ "version": "v1.35" })),
            json!({}),
            &["spec.topology.version: Invalid"],
        ),
        ("concurrency", concurrency("3"), json!({}), &[]),
        ("no concurrency", concurrency("0"), json!({}), at_concurrency),
        ("concurrency beyond all numbers", concurrency("99999999999999999999"), json!({}), at_concurrency),
        (
            "label",
            workers(json!({ "metadata": { "labels": { "a": "b c" } } })),
            json!({}),
            &[&md("metadata.labels: Invalid")],
        ),
        (
            "rollout",
            workers(json!({ "rollout": { "strategy": { "rollingUpdate": { "maxUnavailable": "1.5%" } } } })),
            json!({}),
            &[&md("rollout.strategy.rollingUpdate.maxUnavailable: Invalid")],
        ),
        (
            "taint",
            workers(
                json!({ "taints": [{ "key": "node.kubernetes.io/x", "effect": "NoSchedule", "propagation": "Always" }] }),
            ),
            json!({}),
            &[&md("taints[0].key: Invalid")],
        ),
        (
            "replicas of an autoscaler",
            workers(json!({ "replicas": 2, "metadata": autoscaled })),
            json!({}),
            &[&md("replicas: Invalid")],
        ),
    ];
    created(cases);
}

#[test]
fn what_a_class_allows() {
    let md = |rest: &str| format!("spec.topology.workers.machineDeployments[md-0].{rest}");
    let check = |seconds: i32| json!({ "checks": { "nodeStartupTimeoutSeconds": seconds } });
    let cases: &[Case<'_>] = &[
        (
            "version that the class has",
            json!({}),
            json!({ "spec": { "kubernetesVersions": ["v1.34.0", "v1.35.0"] } }),
            &[],
        ),
        (
            "version that the class does not have",
            json!({}),
            json!({ "spec": { "kubernetesVersions": ["v1.34.0"] } }),
            &["spec.topology.version: Invalid"],
        ),
        (
            "worker class",
            workers(json!({ "class": "other" })),
            json!({}),
            &["spec.topology.workers.machineDeployments[0].class: Invalid"],
        ),
        (
            "pool class",
            topology(json!({ "workers": { "machinePools": [{ "class": "worker", "name": "a" }] } })),
            json!({}),
            &["spec.topology.workers.machinePools[0].class: Invalid"],
        ),
        (
            "health check without machines",
            topology(json!({ "controlPlane": { "healthCheck": check(60) } })),
            json!({ "spec": { "controlPlane": { "machineInfrastructure": null } } }),
            &["spec.topology.controlPlane.healthCheck: Forbidden"],
        ),
        (
            "health check that is nowhere",
            workers(json!({ "healthCheck": { "enabled": true } })),
            json!({}),
            &[&md("healthCheck.enabled: Forbidden")],
        ),
        (
            "start-up too short",
            workers(json!({ "healthCheck": check(1) })),
            json!({}),
            &[&md("healthCheck.checks.nodeStartupTimeoutSeconds: Invalid")],
        ),
    ];
    created(cases);
}

#[test]
fn a_class_that_is_not_there_yet() {
    let (errors, warnings) = answer(&json!({}), None, &Facts::of_empty_server());
    assert_eq!((errors.len(), warnings.len()), (0, 1));
    assert!(warnings[0].contains("the ClusterClass one/base does not exist"), "{warnings:?}");
    let failed = Facts { class: Fact::Failed("the disk is gone".to_owned()), ..Facts::of_empty_server() };
    for facts in [failed, Facts::default()] {
        assert_eq!(answer(&json!({}), None, &facts).0, ["spec.topology.class: InternalError"]);
    }
    let old = good();
    let paused = json!({ "spec": { "paused": true } });
    assert_eq!(
        answer(&paused, Some(&old), &Facts::of_empty_server()).0,
        ["spec.topology.class: InternalError"]
    );
}

/// Otherwise a class that was changed or removed would hold up its Clusters' deletion.
#[test]
fn finalizers_go_whatever_has_become_of_the_class() {
    let deleted = json!({ "metadata": { "deletionTimestamp": "2026-11-27T00:00:00Z" } });
    let mut old = good();
    merge(&mut old, &deleted);
    let narrow = with_class(&json!({ "spec": { "kubernetesVersions": ["v1.36.0"], "variables": [
        { "name": "must", "required": true, "schema": { "openAPIV3Schema": { "type": "string" } } }] } }));
    for facts in [Facts::of_empty_server(), Facts::default(), narrow] {
        assert_eq!(answer(&deleted, Some(&old), &facts).0, Vec::<String>::new());
    }
    let mut changed = deleted.clone();
    merge(&mut changed, &topology(json!({ "version": "v1.36.0" })));
    assert_eq!(
        answer(&changed, Some(&old), &Facts::of_empty_server()).0,
        ["spec.topology.class: InternalError"]
    );
}

#[test]
fn variables_wait_for_extensions() {
    let external = json!([{ "name": "p", "external": { "generatePatchesExtension": "a.b", "discoverVariablesExtension": "c.b" } }]);
    let variables = json!([{ "name": "size", "definitionsConflict": false, "definitions": [
        { "from": "p", "required": false, "schema": { "openAPIV3Schema": { "type": "string", "default": "small" } } }] }]);
    let with_status = |status: Value| {
        let mut change = json!({ "metadata": { "generation": 2 }, "spec": { "patches": external } });
        change["status"] = status;
        with_class(&change)
    };
    let ready = |status: &str| json!([{ "type": "VariablesReady", "status": status, "reason": "", "message": "", "lastTransitionTime": "" }]);
    for (name, status) in [
        ("no status", json!({})),
        (
            "older generation",
            json!({ "observedGeneration": 1, "conditions": ready("True"), "variables": variables }),
        ),
        ("failed", json!({ "observedGeneration": 2, "conditions": ready("False"), "variables": variables })),
    ] {
        let (errors, warnings) = answer(&json!({}), None, &with_status(status));
        assert_eq!(errors, Vec::<String>::new(), "{name}");
        assert!(warnings[0].contains("is not reconciled yet"), "{name}: {warnings:?}");
    }
    let facts =
        with_status(json!({ "observedGeneration": 2, "conditions": ready("True"), "variables": variables }));
    let mut new = good();
    assert_eq!(set_defaults(GROUP, "Cluster", &mut new, None, &facts), Ok(()));
    assert_eq!(new["spec"]["topology"]["variables"], json!([{ "name": "size", "value": "small" }]));
}

#[test]
fn a_class_for_an_existing_cluster() {
    let mut old = good();
    old["spec"].as_object_mut().unwrap().remove("topology");
    assert_eq!(answer(&json!({}), Some(&old), &with_class(&json!({}))).0, ["spec.topology.class: Forbidden"]);
    let unsafely = json!({ "metadata": { "annotations": { "unsafe.topology.cluster.x-k8s.io/disable-update-class-name-check": "" } } });
    assert_eq!(answer(&unsafely, Some(&old), &with_class(&json!({}))).0, Vec::<String>::new());
}

#[test]
fn another_class() {
    let rebase = topology(json!({ "classRef": { "name": "other", "namespace": "two" } }));
    let old = good();
    let old_class =
        |class: Fact<Option<Box<ClusterClass>>>| Facts { old_class: class, ..with_class(&json!({})) };
    let same = || with_class(&json!({})).class;
    assert_eq!(answer(&rebase, Some(&old), &old_class(same())).0, Vec::<String>::new());
    let docker =
        json!({ "spec": { "infrastructure": { "templateRef": { "kind": "DockerClusterTemplate" } } } });
    let found = answer(&rebase, Some(&old), &old_class(with_class(&docker).class)).0;
    assert_eq!(found, ["spec.infrastructure.templateRef.kind: Forbidden"]);
    for gone in [Fact::Known(None), Fact::Unread] {
        assert_eq!(answer(&rebase, Some(&old), &old_class(gone)).0, ["spec.topology.class: Forbidden"]);
    }
    let mut new = good();
    merge(&mut new, &rebase);
    assert_eq!((class_key(&new), class_key(&old)), (Some(("two", "other")), Some(("one", "base"))));
}

/// What runs of a Cluster whose parts all have a version.
struct Parts {
    control_plane: Value,
    deployment: Value,
    machine: Value,
    pool: Value,
}

impl Parts {
    fn with(version: &str) -> Self {
        let spec = json!({ "template": { "spec": { "version": version } }, "selector": { "matchLabels": { "set": "a" } } });
        Self {
            control_plane: json!({ "spec": { "version": version }, "status": { "version": version, "versions": [{ "version": version }] } }),
            deployment: json!({ "metadata": { "name": "md" }, "spec": spec }),
            machine: json!({ "metadata": { "name": "m", "labels": { "set": "a" } }, "spec": { "version": version } }),
            pool: json!({ "metadata": { "name": "mp" }, "spec": spec, "status": { "versions": [{ "version": version }] } }),
        }
    }

    fn running(&self) -> Running {
        Running {
            control_plane: Some(self.control_plane.clone()).filter(|object| !object.is_null()),
            machine_deployments: vec![MachineDeployment::deserialize(&self.deployment).unwrap()],
            machine_pools: vec![MachinePool::deserialize(&self.pool).unwrap()],
            machines: vec![Machine::deserialize(&self.machine).unwrap()],
        }
    }
}

fn upgrade(
    to: &str,
    class: &Value,
    running: Fact<Running>,
    annotations: Value,
) -> Result<Vec<String>, String> {
    let old = good();
    let mut new = good();
    merge(&mut new, &topology(json!({ "version": to })));
    new["metadata"]["annotations"] = annotations;
    let facts = Facts { running, ..with_class(class) };
    let found = check(GROUP, "Cluster", &new, Some(&old), false, ALL, &facts);
    found.map_err(|errors| {
        assert_eq!(summary(Err(errors.clone())), ["spec.topology.version: Invalid"]);
        errors[0].detail.clone()
    })
}

#[test]
fn versions_rise_one_after_the_other() {
    let at = |to: &str| upgrade(to, &json!({}), Fact::Known(Parts::with("v1.35.0").running()), json!({}));
    for fine in ["v1.35.0", "v1.35.1", "v1.36.0", "v1.36.5-rc.1", "v1.35.0-rc.1", "v1.35.0+build.2"] {
        assert_eq!(at(fine), Ok(Vec::new()), "{fine}");
    }
    for low in ["v1.34.9", "v0.99.0"] {
        assert!(at(low).unwrap_err().contains("version cannot be decreased from"), "{low}");
    }
    for high in ["v1.37.0-alpha.1", "v1.37.0", "v2.0.0"] {
        assert!(at(high).unwrap_err().contains("version cannot be increased from \"1.35.0\""), "{high}");
    }
    let several = json!({ "spec": { "kubernetesVersions": ["v1.35.0", "v1.36.0", "v1.37.0"] } });
    let planned = json!({ "spec": { "upgrade": { "external": { "generateUpgradePlanExtension": "a.b" } } } });
    for class in [several, planned] {
        let running = Fact::Known(Parts::with("v1.35.0").running());
        assert_eq!(upgrade("v1.37.0", &class, running, json!({})), Ok(Vec::new()));
    }
    let (mut new, old) = (good(), good());
    assert!(!upgrades(&new, &old));
    merge(&mut new, &topology(json!({ "version": "v1.36.0" })));
    assert!(upgrades(&new, &old));
}

#[test]
fn an_upgrade_waits_for_the_one_before() {
    type Change = fn(&mut Parts);
    let cases: &[(&str, Change, &str)] = &[
        ("good", |_| {}, ""),
        ("no control plane", |parts| parts.control_plane = Value::Null, "does not exist yet"),
        (
            "old control plane",
            |parts| parts.control_plane["spec"]["version"] = json!("v1.34.0"),
            "Cluster.spec.topology.version 1.35.0 was not propagated to control plane yet (control plane version 1.34.0)",
        ),
        ("not a version", |parts| parts.control_plane["spec"]["version"] = json!(7), "has no version"),
        (
            "provisioning",
            |parts| parts.control_plane["status"] = json!({}),
            "control plane is currently provisioning",
        ),
        (
            "old machine of the control plane",
            |parts| {
                parts.control_plane["status"]["versions"] =
                    json!([{ "version": "v1.34.0" }, { "version": "v1.35.0" }])
            },
            "control plane is still completing a previous upgrade",
        ),
        ("only status.version", |parts| parts.control_plane["status"] = json!({ "version": "v1.35.0" }), ""),
        (
            "old MachineDeployment",
            |parts| parts.deployment["spec"]["template"]["spec"]["version"] = json!("v1.34.0"),
            "there are still MachineDeployments completing a previous upgrade: [md]",
        ),
        (
            "old Machine",
            |parts| parts.machine["spec"]["version"] = json!("v1.34.0"),
            "there are still MachineDeployments completing a previous upgrade: [md]",
        ),
        (
            "old kubelet",
            |parts| parts.machine["status"] = json!({ "nodeInfo": { "kubeletVersion": "v1.34.0" } }),
            "there are still MachineDeployments completing a previous upgrade: [md]",
        ),
        (
            "somebody else's Machine",
            |parts| {
                parts.machine["spec"]["version"] = json!("v1.34.0");
                parts.machine["metadata"]["labels"]["set"] = json!("b");
            },
            "",
        ),
        (
            "Machine without a version",
            |parts| parts.machine["spec"] = json!({}),
            "the Machine m of the MachineDeployment md has no version",
        ),
        (
            "old Node of a pool",
            |parts| parts.pool["status"]["versions"][0]["version"] = json!("v1.34.0"),
            "there are still MachinePools completing a previous upgrade: [mp]",
        ),
        (
            "unknown Nodes",
            |parts| parts.pool["status"] = json!({ "nodeRefs": [{ "name": "n" }] }),
            "the MachinePool mp does not report the versions",
        ),
    ];
    for (name, change, expected) in cases {
        let mut parts = Parts::with("v1.35.0");
        change(&mut parts);
        let found = upgrade("v1.36.0", &json!({}), Fact::Known(parts.running()), json!({}));
        match found {
            Ok(_) => assert_eq!(*expected, "", "{name}"),
            Err(why) => assert!(!expected.is_empty() && why.contains(expected), "{name}: {why}"),
        }
    }
    let known = || Fact::Known(Parts::with("v1.35.0").running());
    let pending = json!({ "runtime.cluster.x-k8s.io/pending-hooks": "AfterClusterUpgrade,AfterControlPlaneInitialized" });
    let blocking = "version cannot be changed when the \"AfterClusterUpgrade\" hook is still blocking";
    assert_eq!(upgrade("v1.36.0", &json!({}), known(), pending), Err(blocking.to_owned()));
    let mut parts = Parts::with("v1.35.0");
    parts.machine["spec"]["version"] = json!("v1.34.0");
    parts.pool["status"]["versions"][0]["version"] = json!("v1.34.0");
    let both = "version cannot be changed: [there are still MachineDeployments completing a previous upgrade: [md], there are still MachinePools completing a previous upgrade: [mp]]";
    assert_eq!(upgrade("v1.36.0", &json!({}), Fact::Known(parts.running()), json!({})), Err(both.to_owned()));
    assert!(upgrade("v1.36.0", &json!({}), Fact::Unread, json!({})).unwrap_err().contains("not known"));
    let unsafely = json!({ "unsafe.topology.cluster.x-k8s.io/disable-update-version-check": "" });
    let warnings = upgrade("v1.30.0", &json!({}), Fact::Unread, unsafely).unwrap();
    assert!(warnings[0].contains("is not checked"), "{warnings:?}");
}

#[test]
fn a_topology_of_any_form_is_left_to_the_schema() {
    for odd in [
        json!(5),
        json!({}),
        json!({ "classRef": 7 }),
        json!({ "workers": { "machineDeployments": {} } }),
        json!([]),
    ] {
        let mut new = good();
        new["spec"]["topology"] = odd;
        let facts = with_class(&json!({}));
        let _ = set_defaults(GROUP, "Cluster", &mut new, None, &facts);
        let _ = check(GROUP, "Cluster", &new, Some(&good()), false, ALL, &facts);
    }
}
