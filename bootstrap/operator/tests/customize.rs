//! What an object changes in the components.

use operator::customize::customize;
use schemas::operator::ProviderSpec;
use serde_json::{Value, json};

fn deployment(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "a", "labels": {"app": name}},
        "spec": {"replicas": 1, "template": {"spec": {"containers": [
            {"name": "proxy", "image": "proxy:1"},
            {
                "name": "manager", "image": "manager:1", "args": ["--leader-elect", "--v=0", "--feature-gates=A=true"],
                "env": [{"name": "KEEP", "value": "1"}, {"name": "CHANGE", "value": "1"}],
                "livenessProbe": {"httpGet": {"path": "/healthz", "port": 1}},
            },
        ]}}},
    })
}

fn changed(spec: Value, mut objects: Vec<Value>) -> Result<Vec<Value>, (String, String)> {
    let spec: ProviderSpec = serde_json::from_value(spec).unwrap();
    let outcome = customize(&spec, &mut objects);
    outcome.map(|()| objects).map_err(|failure| (failure.reason.to_owned(), failure.message))
}

fn one(spec: Value) -> Value {
    changed(spec, vec![deployment("x")]).unwrap().remove(0)
}

#[test]
fn the_pod() {
    let found = one(json!({"deployment": {
        "replicas": 0, "nodeSelector": {"a": "b"}, "tolerations": [{"key": "t", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}}, "serviceAccountName": "s", "imagePullSecrets": [{"name": "p"}],
        "containers": [{
            "name": "manager", "imageUrl": "mirror/manager:2", "command": ["/run"],
            "args": {"--v": "5", "--new": "x", "namespace": "never"},
            "env": [{"name": "CHANGE", "value": "2"}], "resources": {"limits": {"memory": "1Gi"}},
        }],
    }}));
    assert_eq!(found["spec"]["replicas"], 0);
    let pod = &found["spec"]["template"]["spec"];
    let expected = json!({
        "nodeSelector": {"a": "b"}, "tolerations": [{"key": "t", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}}, "serviceAccountName": "s", "imagePullSecrets": [{"name": "p"}],
        "containers": [{"name": "proxy", "image": "proxy:1"}, {
            "name": "manager", "image": "mirror/manager:2", "command": ["/run"],
            "args": ["--leader-elect", "--v=5", "--feature-gates=A=true", "--new=x"],
            "env": [{"name": "KEEP", "value": "1"}, {"name": "CHANGE", "value": "2"}],
            "resources": {"limits": {"memory": "1Gi"}},
            "livenessProbe": {"httpGet": {"path": "/healthz", "port": 1}},
        }],
    });
    assert_eq!(*pod, expected);
}

#[test]
fn the_manager() {
    let election = json!({
        "leaderElect": true, "leaseDuration": "15s", "renewDeadline": "1m", "retryPeriod": "0s",
        "resourceLock": "leases", "resourceName": "lock", "resourceNamespace": "a",
    });
    let found = one(json!({
        "deployment": {"containers": [{"name": "manager", "args": {"--v": "9"}}]},
        "manager": {
            "verbosity": 4, "featureGates": {"B": false, "A": true}, "profilerAddress": "localhost:6060",
            "maxConcurrentReconciles": 7, "cacheNamespace": "b", "syncPeriod": "90m", "leaderElection": election,
            "controller": {"groupKindConcurrency": {"Machine": 3}}, "metrics": {"bindAddress": ":8080"},
            "health": {"healthProbeBindAddress": ":9440", "livenessEndpointName": "live"},
            "webhook": {"port": 9443, "host": "h", "certDir": "/c"},
        },
    }));
    let container = &found["spec"]["template"]["spec"]["containers"][1];
    let mut arguments: Vec<&str> =
        container["args"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap()).collect();
    arguments.sort_unstable();
    let expected = [
        "--feature-gates=A=true,B=false",
        "--health-addr=:9440",
        "--leader-elect",
        "--leader-elect-lease-duration=15s",
        "--leader-elect-renew-deadline=60s",
        "--leader-elect=true",
        "--leader-election-id=a/lock",
        "--machine-concurrency=3",
        "--max-concurrent-reconciles=7",
        "--metrics-bind-addr=:8080",
        "--namespace=b",
        "--profiler-address=localhost:6060",
        "--sync-period=5400s",
        "--v=4",
        "--webhook-cert-dir=/c",
        "--webhook-host=h",
        "--webhook-port=9443",
    ];
    assert_eq!(arguments, expected);
    assert_eq!(container["livenessProbe"]["httpGet"]["path"], "/live");
    // The verbosity that managers have anyway is not set.
    let found = one(json!({"manager": {"verbosity": 1}}));
    assert_eq!(found["spec"]["template"]["spec"]["containers"][1]["args"][1], "--v=0");
    let mut empty = deployment("x");
    empty["spec"]["template"]["spec"]["containers"] = json!([]);
    let failed = changed(json!({"manager": {"verbosity": 2}}), vec![empty]).unwrap_err();
    assert_eq!(failed.0, "ComponentsCustomizationError");
}

#[test]
fn of_several_deployments() {
    let all =
        vec![deployment("capz-controller-manager"), deployment("service-operator"), deployment("third")];
    let spec = json!({
        "deployment": {"replicas": 2},
        "additionalDeployments": {"third": {"deployment": {"replicas": 3}, "manager": {"verbosity": 3}}},
    });
    let found = changed(spec, all).unwrap();
    let replicas: Vec<&Value> = found.iter().map(|object| &object["spec"]["replicas"]).collect();
    assert_eq!(replicas, [&json!(2), &json!(1), &json!(3)]);
    assert_eq!(found[2]["spec"]["template"]["spec"]["containers"][1]["args"][1], "--v=3");
}

#[test]
fn patches() {
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "a"}, "data": {"k": "1"}});
    let objects = || vec![deployment("x"), config.clone()];
    let merged = "kind: ConfigMap\nmetadata: {name: m}\ndata: {k: null, n: '2'}\n";
    let other = "kind: ConfigMap\nmetadata: {name: other}\ndata: {n: '3'}\n";
    let found = changed(json!({"manifestPatches": [merged, other]}), objects()).unwrap();
    assert_eq!((&found[1]["data"], &found[0]), (&json!({"n": "2"}), &deployment("x")));

    let operations = "- {op: replace, path: /spec/replicas, value: 5}\n";
    let target = json!({"group": "apps", "version": "v1", "kind": "Deployment", "labelSelector": "app=x"});
    let everywhere = json!({"patch": "metadata: {annotations: {a: b}}"});
    let found = changed(json!({"patches": [{"patch": operations, "target": target}, everywhere]}), objects())
        .unwrap();
    assert_eq!(found[0]["spec"]["replicas"], 5);
    assert!(found.iter().all(|object| object["metadata"]["annotations"]["a"] == "b"));

    for (spec, expected) in [
        (json!({"manifestPatches": ["data: {}"]}), "spec.manifestPatches[0] has no kind"),
        (json!({"manifestPatches": ["{"]}), "spec.manifestPatches[0] is not valid YAML"),
        (json!({"manifestPatches": ["just words"]}), "is neither a merge patch nor a list"),
        (
            json!({"manifestPatches": [merged], "patches": [everywhere]}),
            "cannot use both patches and manifestPatches",
        ),
        (
            json!({"patches": [{"patch": "metadata: {name: y}"}]}),
            "spec.patches[0] changes metadata/name of Deployment x",
        ),
        (
            json!({"patches": [{"patch": "- {op: remove, path: /none}"}]}),
            "spec.patches[0] does not fit Deployment x",
        ),
        (
            json!({"patches": [{"patch": "a: b", "target": {"labelSelector": "=="}}]}),
            "has an invalid labelSelector",
        ),
    ] {
        let (reason, message) = changed(spec.clone(), objects()).unwrap_err();
        assert!(reason == "ComponentsPatchError" && message.contains(expected), "{spec}: {message}");
    }
}
