//! Tests of the rules of ClusterClass.

use schemas::admission::{Fact, Facts, Features, check, check_deletion};
use schemas::cluster::Cluster;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ALL, Case, merge, summary, with_features};

const GROUP: &str = "cluster.x-k8s.io";
const KIND: &str = "ClusterClass";

fn template(group: &str, kind: &str) -> Value {
    json!({ "templateRef": { "apiVersion": format!("{group}.cluster.x-k8s.io/v1beta2"), "kind": kind, "name": "x" } })
}

fn worker(class: &str) -> Value {
    json!({
        "class": class,
        "bootstrap": template("bootstrap", "KubeadmConfigTemplate"),
        "infrastructure": template("infrastructure", "DevMachineTemplate"),
    })
}

pub fn good() -> Value {
    let mut control_plane = template("controlplane", "KubeadmControlPlaneTemplate");
    control_plane["machineInfrastructure"] = template("infrastructure", "DevMachineTemplate");
    json!({
        "metadata": { "name": "base", "namespace": "one" },
        "spec": {
            "infrastructure": template("infrastructure", "DevClusterTemplate"),
            "controlPlane": control_plane,
            "workers": { "machineDeployments": [worker("worker")], "machinePools": [worker("pool")] },
            "variables": [{ "name": "size", "required": false, "schema": { "openAPIV3Schema": { "type": "string" } } }],
        },
    })
}

fn spec(spec: Value) -> Value {
    json!({ "spec": spec })
}

fn deployments(change: &Value) -> Value {
    let mut class = worker("worker");
    merge(&mut class, change);
    spec(json!({ "workers": { "machineDeployments": [class] } }))
}

fn creations(cases: &[Case<'_>]) {
    with_features(GROUP, KIND, &good(), cases);
}

#[test]
fn references_and_workers() {
    let reference = |change: Value| spec(json!({ "infrastructure": { "templateRef": change } }));
    creations(&[
        ("good", json!({}), &[]),
        ("no name", reference(json!({ "name": "" })), &["spec.infrastructure.templateRef.name: Required"]),
        (
            "no template",
            reference(json!({ "kind": "DevCluster" })),
            &["spec.infrastructure.templateRef.kind: Invalid"],
        ),
        (
            "only template",
            reference(json!({ "kind": "Template" })),
            &["spec.infrastructure.templateRef.kind: Invalid"],
        ),
        (
            "no version",
            reference(json!({ "apiVersion": "" })),
            &["spec.infrastructure.templateRef.apiVersion: Required"],
        ),
        (
            "two slashes",
            reference(json!({ "apiVersion": "a/b/c" })),
            &["spec.infrastructure.templateRef.apiVersion: Invalid"],
        ),
        (
            "class twice",
            spec(json!({ "workers": { "machineDeployments": [worker("a"), worker("b"), worker("a")] } })),
            &["spec.workers.machineDeployments[2].class: Invalid"],
        ),
        (
            "pool twice",
            spec(json!({ "workers": { "machinePools": [worker("a"), worker("a")] } })),
            &["spec.workers.machinePools[1].class: Invalid"],
        ),
        (
            "the same name in both lists",
            spec(json!({ "workers": { "machinePools": [worker("worker")] } })),
            &[],
        ),
        (
            "label",
            deployments(&json!({ "metadata": { "labels": { "a b": "c" } } })),
            &["spec.workers.machineDeployments[worker].metadata.labels: Invalid"],
        ),
        (
            "rollout",
            deployments(&json!({ "rollout": { "strategy": { "rollingUpdate": { "maxSurge": "many" } } } })),
            &["spec.workers.machineDeployments[worker].rollout.strategy.rollingUpdate.maxSurge: Invalid"],
        ),
        (
            "no rollout is possible",
            deployments(
                &json!({ "rollout": { "strategy": { "rollingUpdate": { "maxSurge": 0, "maxUnavailable": 0 } } } }),
            ),
            &[
                "spec.workers.machineDeployments[worker].rollout.strategy.rollingUpdate.maxUnavailable: Invalid",
            ],
        ),
        (
            "taint",
            deployments(
                &json!({ "taints": [{ "key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule", "propagation": "Always" }] }),
            ),
            &["spec.workers.machineDeployments[worker].taints[0].key: Invalid"],
        ),
        (
            "taint of the control plane",
            spec(
                json!({ "controlPlane": { "taints": [{ "key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule", "propagation": "Always" }] } }),
            ),
            &[],
        ),
    ]);
}

#[test]
fn health_checks() {
    let checks = |seconds: i32| json!({ "checks": { "nodeStartupTimeoutSeconds": seconds } });
    let control_plane = |change: Value| spec(json!({ "controlPlane": change }));
    let startup: &[&str] = &["spec.controlPlane.healthCheck.checks.nodeStartupTimeoutSeconds: Invalid"];
    creations(&[
        ("control plane", control_plane(json!({ "healthCheck": checks(30) })), &[]),
        ("never", control_plane(json!({ "healthCheck": checks(0) })), &[]),
        ("too short", control_plane(json!({ "healthCheck": checks(29) })), startup),
        (
            "no machines",
            control_plane(json!({ "healthCheck": checks(30), "machineInfrastructure": null })),
            &["spec.controlPlane.healthCheck: Forbidden"],
        ),
        (
            "workers",
            deployments(&json!({ "healthCheck": { "remediation": {
                "maxInFlight": "x", "triggerIf": { "unhealthyLessThanOrEqualTo": "y" } } } })),
            &[
                "spec.workers.machineDeployments[worker].healthCheck.remediation.maxInFlight: Invalid",
                "spec.workers.machineDeployments[worker].healthCheck.remediation.triggerIf.unhealthyLessThanOrEqualTo: Invalid",
            ],
        ),
    ]);
}

#[test]
fn names_and_versions() {
    let naming = |template: &str| spec(json!({ "infrastructure": { "naming": { "template": template } } }));
    let refused: &[&str] = &["spec.infrastructure.naming.template: Invalid"];
    let versions = |versions: &[&str]| spec(json!({ "kubernetesVersions": versions }));
    let second: &[&str] = &["spec.kubernetesVersion[1]: Invalid"];
    creations(&[
        ("without anything random", naming("{{ .cluster.name }}-infra"), &[]),
        ("a long name is cut", naming(&format!("{{{{ .cluster.name }}}}-{}", "x".repeat(300))), &[]),
        ("upper case", naming("{{ .cluster.name }}-Infra"), refused),
        ("unknown value", naming("{{ .machineDeployment.topologyName }}"), refused),
        ("broken", naming("{{ .cluster.name"), refused),
        (
            "workers",
            deployments(
                &json!({ "naming": { "template": "{{ .machineDeployment.topologyName }}_{{ .random }}" } }),
            ),
            &["spec.workers.machineDeployments[worker].naming.template: Invalid"],
        ),
        (
            "pools",
            spec(
                json!({ "workers": { "machinePools": [{ "class": "p", "naming": { "template": "{{ .machineDeployment.topologyName }}" },
                "bootstrap": template("bootstrap", "KubeadmConfigTemplate"), "infrastructure": template("infrastructure", "DevMachinePoolTemplate") }] } }),
            ),
            &["spec.workers.machinePools[p].naming.template: Invalid"],
        ),
        ("versions", versions(&["v1.33.0", "v1.33.5", "v1.34.0-rc.1", "v1.34.0", "v1.35.0"]), &[]),
        ("numbers of builds", versions(&["v1.33.0+1", "v1.33.0+2"]), &[]),
        ("words of builds have no order", versions(&["v1.33.0+b", "v1.33.0+a"]), &[]),
        ("lower build", versions(&["v1.33.0+2", "v1.33.0+1"]), second),
        ("the same", versions(&["v1.33.0", "v1.33.0"]), second),
        ("a word is later than a number", versions(&["v1.33.0+a", "v1.33.0+1"]), second),
        ("minor missing", versions(&["v1.33.0", "v1.35.0"]), second),
        ("no version", versions(&["v1.33.0", "latest", "v1.34.0"]), second),
        ("beyond all numbers", versions(&["v1.33.0", "v1.99999999999999999999.0"]), second),
    ]);
}

/// A patch of the bootstrap template of the workers.
fn patch(operation: Value) -> Value {
    spec(json!({ "patches": [{ "name": "p", "definitions": [{
        "selector": selector(json!({ "machineDeploymentClass": { "names": ["worker"] } })),
        "jsonPatches": [operation],
    }] }] }))
}

fn selector(resources: Value) -> Value {
    json!({ "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfigTemplate", "matchResources": resources })
}

#[test]
fn json_patches() {
    let path = |op: &str, path: &str| patch(json!({ "op": op, "path": path, "value": 1 }));
    let from = |from: Value| patch(json!({ "op": "add", "path": "/spec/a", "valueFrom": from }));
    let variable = |name: &str| from(json!({ "variable": name }));
    let at_path: &[&str] = &["spec.patches[0].definitions[0].jsonPatches[0].path: Invalid"];
    let at_variable: &[&str] = &["spec.patches[0].definitions[0].jsonPatches[0].valueFrom.variable: Invalid"];
    let at_from: &[&str] = &["spec.patches[0].definitions[0].jsonPatches[0].valueFrom: Invalid"];
    creations(&[
        ("add", path("add", "/spec/a"), &[]),
        ("append", path("add", "/spec/list/-"), &[]),
        ("prepend", path("add", "/spec/list/0"), &[]),
        ("in the middle", path("add", "/spec/list/1"), at_path),
        ("a number of any length", path("add", &format!("/spec/list/{}", "9".repeat(100))), at_path),
        ("replace an element", path("replace", "/spec/list/0"), at_path),
        ("remove an element", path("remove", "/spec/list/0/name"), at_path),
        ("elsewhere", path("add", "/metadata/labels"), at_path),
        (
            "another operation",
            path("move", "/spec/a"),
            &["spec.patches[0].definitions[0].jsonPatches[0].op: NotSupported"],
        ),
        ("remove needs no value", patch(json!({ "op": "remove", "path": "/spec/a" })), &[]),
        ("variable", variable("size"), &[]),
        ("field of a variable", variable("size.a[0].b"), &[]),
        ("builtin", variable("builtin.cluster.topology.classRef.namespace"), &[]),
        ("unknown builtin", variable("builtin.cluster.secret"), at_variable),
        ("unknown variable", variable("sizes"), at_variable),
        ("no name", variable(".[["), at_variable),
        ("neither", from(json!({})), at_from),
        ("both", from(json!({ "variable": "size", "template": "{{ .size }}" })), at_from),
        ("template", from(json!({ "template": "{{ .size | upper | quote }}" })), &[]),
        (
            "template that asks for the machine",
            from(json!({ "template": "{{ env \"HOME\" }}" })),
            &["spec.patches[0].definitions[0].jsonPatches[0].valueFrom.template: Invalid"],
        ),
        (
            "deep template",
            from(json!({ "template": "{{ if .size }}".repeat(10_000) })),
            &["spec.patches[0].definitions[0].jsonPatches[0].valueFrom.template: Invalid"],
        ),
        (
            "large template",
            from(json!({ "template": "x".repeat(2 << 20) })),
            &["spec.patches[0].definitions[0].jsonPatches[0].valueFrom.template: Invalid"],
        ),
    ]);
}

#[test]
fn selectors() {
    let with = |selector: Value| {
        spec(json!({ "patches": [{ "name": "p", "definitions": [{
            "selector": selector, "jsonPatches": [{ "op": "remove", "path": "/spec/a" }] }] }] }))
    };
    let names = |names: &[&str]| with(selector(json!({ "machineDeploymentClass": { "names": names } })));
    let field = |rest: &str| format!("spec.patches[0].definitions[0].selector.matchResources{rest}: Invalid");
    let first = field(".machineDeploymentClass.names[0]");
    let first: &[&str] = &[&first];
    let second = field(".machineDeploymentClass.names[1]");
    let infrastructure = json!({ "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevMachineTemplate",
        "matchResources": { "controlPlane": true } });
    creations(&[
        ("the machines of the control plane", with(infrastructure), &[]),
        ("all", names(&["*"]), &[]),
        ("beginning", names(&["wor*"]), &[]),
        ("end", names(&["*ker"]), &[]),
        ("other end", names(&["*x"]), first),
        ("two stars", names(&["*ork*"]), first),
        ("star in the middle", names(&["wo*er"]), first),
        ("no name of a class", names(&["a b*"]), first),
        ("each is checked", names(&["worker", "x"]), &[&second]),
        (
            "nothing",
            with(selector(json!({ "controlPlane": false }))),
            &["spec.patches[0].definitions[0].selector.matchResources: Required"],
        ),
        (
            "other kind",
            with(selector(json!({ "controlPlane": true, "infrastructureCluster": true }))),
            &[&field(".infrastructureCluster"), &field(".controlPlane")],
        ),
        (
            "pools",
            with(selector(json!({ "machinePoolClass": { "names": ["pool", "worker"] } }))),
            &[&field(".machinePoolClass.names[1]")],
        ),
    ]);
}

#[test]
fn external_patches() {
    let external = |external: Value| spec(json!({ "patches": [{ "name": "p", "external": external }] }));
    creations(&[
        ("generates", external(json!({ "generatePatchesExtension": "a.b" })), &[]),
        ("only checks", external(json!({ "validateTopologyExtension": "a.b" })), &[]),
        (
            "neither",
            external(json!({ "discoverVariablesExtension": "a.b" })),
            &["spec.patches[0].external: Invalid"],
        ),
        (
            "reserved name",
            spec(
                json!({ "patches": [{ "name": "inline", "external": { "generatePatchesExtension": "a.b" } }] }),
            ),
            &["spec.patches[0].name: Invalid"],
        ),
    ]);
    super::created_with(
        Features { runtime_sdk: false, ..ALL },
        GROUP,
        KIND,
        &good(),
        &[(
            "the feature is off",
            external(json!({ "generatePatchesExtension": "a.b" })),
            &["spec.patches[0].external: Forbidden"],
        )],
    );
}

#[test]
fn the_feature_gate() {
    let off = Features { cluster_topology: false, ..ALL };
    super::created_with(off, GROUP, KIND, &good(), &[("new", json!({}), &["spec: Forbidden"])]);
    let mut changed = good();
    merge(&mut changed, &spec(json!({ "variables": [{ "name": "builtin" }] })));
    assert_eq!(check(GROUP, KIND, &changed, Some(&good()), false, off, &Facts::default()), Ok(Vec::new()));
}

fn cluster(name: &str, topology: Value) -> Cluster {
    let mut whole = json!({ "classRef": { "name": "base" }, "version": "v1.35.0" });
    merge(&mut whole, &topology);
    let metadata = json!({ "name": name, "namespace": "one" });
    Cluster::deserialize(&json!({ "metadata": metadata, "spec": { "topology": whole } })).unwrap()
}

/// A class with health checks for the control plane and the workers.
fn class_with_checks() -> Value {
    let mut class = good();
    let checks = json!({ "checks": { "nodeStartupTimeoutSeconds": 60 } });
    let with_workers = json!([merged(worker("worker"), &json!({ "healthCheck": checks }))]);
    merge(
        &mut class,
        &spec(
            json!({ "controlPlane": { "healthCheck": checks }, "workers": { "machineDeployments": with_workers } }),
        ),
    );
    class
}

#[test]
fn what_clusters_use_stays() {
    let workers = |part: Value| {
        let mut whole = json!({ "class": "worker", "name": "md-0" });
        merge(&mut whole, &part);
        cluster("a", json!({ "workers": { "machineDeployments": [whole] } }))
    };
    let enabled = json!({ "healthCheck": { "enabled": true } });
    let with_checks = class_with_checks();
    let none = spec(
        json!({ "controlPlane": { "healthCheck": null }, "workers": { "machineDeployments": [worker("worker")] } }),
    );
    let own = json!({ "healthCheck": { "enabled": true, "checks": { "nodeStartupTimeoutSeconds": 90 } } });
    let autoscaled = json!({ "metadata": { "annotations": { "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "1" } } });
    let pool = cluster("a", json!({ "workers": { "machinePools": [{ "class": "pool", "name": "mp-0" }] } }));
    let cases: &[(&str, Value, Vec<Cluster>, &[&str])] = &[
        ("nobody", spec(json!({ "workers": null })), vec![], &[]),
        (
            "worker class",
            spec(json!({ "workers": { "machineDeployments": [worker("other")] } })),
            vec![workers(json!({}))],
            &["spec.workers.machineDeployments: Forbidden"],
        ),
        (
            "pool class",
            spec(json!({ "workers": { "machinePools": null } })),
            vec![pool],
            &["spec.workers.machinePools: Forbidden"],
        ),
        (
            "version",
            spec(json!({ "kubernetesVersions": ["v1.34.0", "v1.36.0"] })),
            vec![cluster("a", json!({})), cluster("b", json!({ "version": "v1.34.0" }))],
            &["spec.kubernetesVersion[1]: Invalid", "spec.kubernetesVersions: Forbidden"],
        ),
        (
            "health checks on which clusters rely",
            none.clone(),
            vec![cluster("a", json!({ "controlPlane": enabled })), workers(enabled.clone())],
            &[
                "spec.controlPlane.healthCheck: Forbidden",
                "spec.workers.machineDeployments[worker].healthCheck: Forbidden",
            ],
        ),
        (
            "health checks that nobody needs",
            none,
            vec![cluster("a", json!({ "controlPlane": own })), workers(own)],
            &[],
        ),
        (
            "autoscaler",
            deployments(&autoscaled),
            vec![workers(json!({ "replicas": 3 })), workers(json!({}))],
            &["spec.topology.workers.machineDeployments[md-0].replicas: Invalid"],
        ),
        (
            "bootstrap of another kind",
            deployments(&json!({ "bootstrap": template("bootstrap", "OtherTemplate") })),
            vec![],
            &[],
        ),
        (
            "infrastructure of another group",
            deployments(&json!({ "infrastructure": template("other", "DevMachineTemplate") })),
            vec![],
            &["spec.workers.machineDeployments[0].infrastructure.templateRef.apiVersion: Forbidden"],
        ),
        (
            "machines of the control plane go",
            spec(json!({ "controlPlane": { "machineInfrastructure": null, "healthCheck": null } })),
            vec![],
            &[
                "spec.controlPlane.machineInfrastructure.templateRef.apiVersion: Forbidden",
                "spec.controlPlane.machineInfrastructure.templateRef.kind: Forbidden",
            ],
        ),
    ];
    for (name, change, clusters, expected) in cases {
        let mut new = with_checks.clone();
        merge(&mut new, change);
        let facts = Facts { clusters: Fact::Known(clusters.clone()), ..Facts::of_empty_server() };
        let found = check(GROUP, KIND, &new, Some(&with_checks), false, ALL, &facts);
        assert_eq!(summary(found), *expected, "{name}");
    }
}

fn merged(mut object: Value, patch: &Value) -> Value {
    merge(&mut object, patch);
    object
}

#[test]
fn a_class_that_is_used_cannot_be_deleted() {
    let delete = |clusters: Fact<Vec<Cluster>>| {
        let facts = Facts { clusters, ..Facts::default() };
        check_deletion(GROUP, KIND, &json!({}), None, &facts)
    };
    assert_eq!(delete(Fact::Known(Vec::new())), Ok(()));
    let clusters = (0..5).map(|number| cluster(&format!("c{number}"), json!({}))).collect();
    let why = delete(Fact::Known(clusters)).unwrap_err();
    assert!(why.contains("one/c0, one/c1, one/c2 and 2 more"), "{why}");
    assert!(delete(Fact::Unread).is_err(), "who does not look must not delete");
    assert_eq!(check_deletion(GROUP, "Machine", &json!({}), None, &Facts::default()), Ok(()));
}

#[test]
fn the_number_of_errors_is_limited() {
    let many: Vec<Value> = (0..5_000).map(|_| json!({ "op": "add", "path": "/metadata" })).collect();
    let mut new = good();
    merge(
        &mut new,
        &spec(json!({ "patches": [{ "name": "p", "definitions": [{
            "selector": selector(json!({ "machineDeploymentClass": { "names": ["worker"] } })), "jsonPatches": many }] }] })),
    );
    let errors = check(GROUP, KIND, &new, None, false, ALL, &Facts::of_empty_server()).unwrap_err();
    assert_eq!(errors.len(), machinery::limits::MAX_FIELD_ERRORS);
}
