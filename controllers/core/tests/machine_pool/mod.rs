//! The rules of MachinePools.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

mod deletion;
mod machines;
mod nodes;
mod status;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use cluster_core::Reference;
use cluster_core::machine_pool::{Observed, Plan, plan};
use engine::ExternalObject;
use engine::steps::Patch;
use k8s_openapi::api::core::v1::Node;
use kube::api::DynamicObject;
use kube::core::ApiResource;
use schemas::FromJson;
use schemas::cluster::{Machine, MachinePool};
use serde_json::{Value, json};

const EPOCH: &str = "2026-11-21T00:00:00Z";

fn parse<T: FromJson>(value: &Value) -> Arc<T> {
    Arc::new(T::from_json(value.to_string().as_bytes()).unwrap())
}

fn at(minute: u32) -> DateTime<Utc> {
    machinery::clock::parse_rfc3339(&format!("2026-11-21T00:{minute:02}:00Z")).unwrap()
}

/// Changes the value at each JSON pointer.
fn with(mut value: Value, changes: &[(&str, Value)]) -> Value {
    for (pointer, change) in changes {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let mut place = &mut value;
        for step in parent.split('/').skip(1) {
            place = &mut place[step];
        }
        place[key] = change.clone();
    }
    value
}

fn external(kind: &str, name: &str, rest: Value) -> ExternalObject {
    let mut object =
        json!({"apiVersion": "infra/v1", "kind": kind, "metadata": {"name": name, "namespace": "default"}});
    for (key, value) in rest.as_object().unwrap() {
        match key.as_str() {
            "metadata" => value
                .as_object()
                .unwrap()
                .iter()
                .for_each(|(key, value)| object["metadata"][key] = value.clone()),
            key => object[key] = value.clone(),
        }
    }
    let resource = ApiResource {
        group: "infra".into(),
        version: "v1".into(),
        api_version: "infra/v1".into(),
        kind: kind.into(),
        plural: engine::contract::plural(kind),
    };
    ExternalObject {
        object: Arc::new(serde_json::from_value(object).unwrap()),
        resource,
        contract: "v1beta2",
    }
}

fn pool(changes: &[(&str, Value)]) -> Arc<MachinePool> {
    let base = json!({
        "metadata": {"name": "workers", "namespace": "default", "uid": "pool", "generation": 3,
            "finalizers": ["machinepool.cluster.x-k8s.io"]},
        "spec": {"clusterName": "plain", "replicas": 2, "template": {
            "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
            "spec": {"clusterName": "plain", "version": "v1.36.0", "bootstrap": {"dataSecretName": "data"},
                "infrastructureRef": {"apiGroup": "infra", "kind": "Pool", "name": "workers"}}}},
        "status": {},
    });
    parse(&with(base, changes))
}

/// A ready Node with this provider ID.
fn node(name: &str, id: &str, changes: &[(&str, Value)]) -> Arc<Node> {
    let base = json!({
        "metadata": {"name": name, "uid": name},
        "spec": {"providerID": id},
        "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": EPOCH}],
            "nodeInfo": {"kubeletVersion": "v1.36.0", "architecture": "", "bootID": "", "containerRuntimeVersion": "",
                "kernelVersion": "", "kubeProxyVersion": "", "machineID": "", "operatingSystem": "", "osImage": "", "systemUUID": ""}},
    });
    Arc::new(serde_json::from_value(with(base, changes)).unwrap())
}

fn machine(name: &str, changes: &[(&str, Value)]) -> Arc<Machine> {
    let base = json!({"metadata": {"name": name, "namespace": "default", "uid": name}, "spec": {"clusterName": "plain"}, "status": {}});
    parse(&with(base, changes))
}

/// The object of a machine in the infrastructure.
fn part(name: &str, rest: Value) -> ExternalObject {
    external("Host", name, rest)
}

/// Infrastructure with two machines.
fn infrastructure(status: Value) -> Reference {
    Reference::Found(external(
        "Pool",
        "workers",
        json!({"spec": {"providerIDList": ["a", "b"]}, "status": status}),
    ))
}

fn observed(pool: Arc<MachinePool>) -> Observed {
    Observed {
        pool,
        cluster: parse(&json!({"metadata": {"name": "plain", "namespace": "default", "uid": "plain"}})),
        bootstrap: Reference::None,
        infrastructure: infrastructure(json!({"ready": true, "replicas": 2})),
        parts: Vec::new(),
        parts_error: None,
        machines: Vec::new(),
        nodes: Some(vec![node("node-a", "a", &[]), node("node-b", "b", &[])]),
        now: at(10),
    }
}

#[test]
fn a_pool_belongs_to_its_cluster_and_controls_its_objects() {
    let bootstrap = Reference::Found(external("Config", "workers", json!({})));
    let plan = plan(&Observed { bootstrap, ..observed(pool(&[])) });
    let metadata = serde_json::to_value(&plan.wanted.metadata).unwrap();
    assert_eq!(metadata["labels"], json!({"cluster.x-k8s.io/cluster-name": "plain"}));
    let owner = &metadata["ownerReferences"][0];
    assert_eq!((&owner["kind"], &owner["controller"]), (&json!("Cluster"), &json!(null)));
    assert!(
        plan.steps
            .texts()
            .starts_with(&["patch Config default/workers", "patch Pool default/workers"].map(str::to_owned))
    );
    for change in plan.steps.of::<Patch<DynamicObject>>() {
        let metadata = serde_json::to_value(&change.wanted.metadata).unwrap();
        let owner = &metadata["ownerReferences"][0];
        assert_eq!((&owner["kind"], &owner["controller"]), (&json!("MachinePool"), &json!(true)));
        assert_eq!(metadata["labels"]["cluster.x-k8s.io/cluster-name"], "plain");
    }
}

#[test]
fn the_bootstrap_data_are_those_of_the_present_config() {
    let created = json!({"initialization": {"dataSecretCreated": true}, "dataSecretName": "new"});
    let found = |status: Value| Reference::Found(external("Config", "c", json!({"status": status})));
    let nameless = json!({"initialization": {"dataSecretCreated": true}});
    let rows = [
        ("no config, and a Secret of the user", Reference::None, "data", true, 0),
        ("not created yet", found(json!({"dataSecretName": "new"})), "data", false, 0),
        ("created", found(created), "new", true, 0),
        ("created without a name", found(nameless), "data", false, 1),
        ("does not exist", Reference::NotFound, "data", false, 0),
        ("unreadable", Reference::Failed("x".to_owned()), "data", false, 1),
    ];
    for (what, bootstrap, secret, is_created, errors) in rows {
        let plan = plan(&Observed { bootstrap, ..observed(pool(&[])) });
        assert_eq!(
            plan.wanted.spec.template.spec.bootstrap.data_secret_name.as_deref(),
            Some(secret),
            "{what}"
        );
        let initialization = plan.wanted.status.unwrap().initialization.unwrap_or_default();
        assert_eq!(initialization.bootstrap_data_secret_created == Some(true), is_created, "{what}");
        assert_eq!(plan.errors.len(), errors, "{what}: {:?}", plan.errors);
    }
}

#[test]
fn what_is_copied_from_the_infrastructure() {
    let provisioned = ("/status/initialization", json!({"infrastructureProvisioned": true}));
    let managed =
        |value: &str| ("/metadata/annotations", json!({"cluster.x-k8s.io/replicas-managed-by": value}));
    let ids = ("/spec/providerIDList", json!(["a", "b"]));
    let empty =
        Reference::Found(external("Pool", "workers", json!({"status": {"ready": true, "replicas": 2}})));
    let none =
        Reference::Found(external("Pool", "workers", json!({"status": {"ready": true, "replicas": 0}})));
    let ready = |field: Value| infrastructure(with(field, &[("/replicas", json!(2))]));
    // Whether it is provisioned, provider IDs, status.replicas, spec.replicas.
    let rows = [
        ("not ready", vec![], ready(json!({})), (false, 0, None, 2)),
        ("ready", vec![], ready(json!({"ready": true})), (true, 2, Some(2), 2)),
        (
            "as the contract says",
            vec![],
            ready(json!({"initialization": {"provisioned": true}})),
            (true, 2, Some(2), 2),
        ),
        ("not ready any more", vec![provisioned.clone()], ready(json!({})), (true, 2, Some(2), 2)),
        ("IDs follow later", vec![ids.clone()], empty, (true, 2, Some(2), 2)),
        ("scaled to nothing", vec![ids], none, (true, 0, Some(0), 2)),
        (
            "by an autoscaler",
            vec![managed("x"), ("/spec/replicas", json!(7))],
            ready(json!({"ready": true})),
            (true, 2, Some(2), 2),
        ),
        (
            "by nobody",
            vec![managed("false"), ("/spec/replicas", json!(7))],
            ready(json!({"ready": true})),
            (true, 2, Some(2), 7),
        ),
        ("does not exist yet", vec![], Reference::NotFound, (false, 0, None, 2)),
    ];
    for (what, changes, infrastructure, expected) in rows {
        let plan = plan(&Observed { infrastructure, ..observed(pool(&changes)) });
        let status = plan.wanted.status.unwrap();
        let is_provisioned =
            status.initialization.unwrap_or_default().infrastructure_provisioned == Some(true);
        let replicas = plan.wanted.spec.replicas.unwrap();
        let found = (is_provisioned, plan.wanted.spec.provider_id_list.len(), status.replicas, replicas);
        assert_eq!(found, expected, "{what}");
        assert!(plan.errors.is_empty(), "{what}: {:?}", plan.errors);
    }
    let lost = Observed { infrastructure: Reference::NotFound, ..observed(pool(&[provisioned])) };
    let plan = plan(&lost);
    assert_eq!(plan.errors, ["Pool workers has been deleted while the MachinePool still exists"]);
    let deprecated = plan.wanted.status.as_ref().unwrap().deprecated.clone().unwrap().v1beta1.unwrap();
    assert_eq!(deprecated.failure_reason.as_deref(), Some("InvalidConfiguration"));
    assert_eq!(plan.wanted.status.unwrap().phase.as_deref(), Some("Failed"));
}

#[test]
fn what_breaks_the_contract_is_left_out() {
    let ids = json!(["a", 5, "", "x".repeat(513), "b"]);
    let status = json!({"ready": true, "replicas": -1});
    let infrastructure = Reference::Found(external(
        "Pool",
        "workers",
        json!({"spec": {"providerIDList": ids}, "status": status}),
    ));
    let managed = ("/metadata/annotations", json!({"cluster.x-k8s.io/replicas-managed-by": ""}));
    let pool = plan(&Observed { infrastructure, ..observed(pool(&[managed])) }).wanted;
    assert_eq!(pool.spec.provider_id_list, ["a", "b"]);
    assert_eq!(pool.spec.replicas, Some(2));
    assert_eq!(pool.status.unwrap().replicas, None);
}
