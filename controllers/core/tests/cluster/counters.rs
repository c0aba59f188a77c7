//! Replica counters and versions of Clusters.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use cluster_core::Reference;
use cluster_core::cluster::{Observed, plan};
use serde_json::{Value, json};

use super::{child, cluster, object, observed};
use crate::core::machine_set::{CORE, machine, with};

/// A number of desired, existing, ready, available and up-to-date replicas.
fn numbers(status: &Value) -> Vec<Option<i64>> {
    let names = ["desiredReplicas", "replicas", "readyReplicas", "availableReplicas", "upToDateReplicas"];
    names.map(|name| status[name].as_i64()).to_vec()
}

fn status(observed: &Observed) -> Value {
    serde_json::to_value(plan(observed).wanted.status.unwrap()).unwrap()
}

#[test]
fn workers_are_summed_up() {
    let replicas = |replicas: i32| json!({"clusterName": "plain", "replicas": replicas});
    let counted = |count: i32, version: &str| {
        json!({"replicas": count, "readyReplicas": count - 1, "availableReplicas": count - 1, "upToDateReplicas": count,
            "versions": [{"version": version, "replicas": count}]})
    };
    let owner = json!([{"apiVersion": CORE, "kind": "Cluster", "name": "plain", "uid": "plain"}]);
    let own = |labels: Value| json!({"/metadata/ownerReferences": owner, "/metadata/labels": labels});
    let none = observed(&cluster());
    assert_eq!(status(&none)["workers"], Value::Null);

    let mut all = none;
    all.deployments = vec![child("md", replicas(3), counted(3, "v1.36.0"))];
    all.pools = vec![child("mp", replicas(5), counted(4, "v1.35.0"))];
    let of_deployment = |mut set: schemas::cluster::MachineSet| {
        set.metadata.owner_references = None;
        std::sync::Arc::new(set)
    };
    let set = child::<schemas::cluster::MachineSet>("ms", replicas(2), counted(2, "v1.36.0"));
    all.sets = vec![of_deployment(set.as_ref().clone()), set];
    all.worker_machines = vec![
        machine("alone", own(json!({}))),
        machine("of-pool", own(json!({"cluster.x-k8s.io/pool-name": "mp"}))),
        machine("of-set", json!({})),
    ];
    let workers = status(&all)["workers"].clone();
    assert_eq!(numbers(&workers), [3 + 5 + 2 + 1, 3 + 4 + 2 + 1, 6, 6, 9].map(Some));
    assert_eq!(
        workers["versions"],
        json!([{"version": "v1.35.0", "replicas": 5}, {"version": "v1.36.0", "replicas": 5}])
    );
    let empty = child("mp", json!({"clusterName": "plain"}), json!({}));
    let pool = Observed { pools: vec![empty], ..observed(&cluster()) };
    assert_eq!(numbers(&status(&pool)["workers"]), [None; 5], "nothing is known yet");
}

#[test]
fn the_plan_of_an_upgrade_stays() {
    let plan = json!([{"version": "v1.36.0"}]);
    let status =
        json!({"/status/controlPlane": {"upgradePlan": plan}, "/status/workers": {"upgradePlan": plan}});
    let found = self::status(&observed(&with(cluster(), status)));
    assert_eq!((&found["controlPlane"]["upgradePlan"], &found["workers"]["upgradePlan"]), (&plan, &plan));
}

#[test]
fn the_control_plane_says_how_many_it_has() {
    let reported = json!({"/spec/replicas": 3, "/status/replicas": 3, "/status/readyReplicas": 2,
        "/status/availableReplicas": 1, "/status/upToDateReplicas": 3, "/status/versions": [{"version": "v1.36.0", "replicas": 3}]});
    let before = json!({"/status/controlPlane": {"desiredReplicas": 5, "replicas": 5, "readyReplicas": 5,
        "availableReplicas": 5, "upToDateReplicas": 5, "versions": [{"version": "v1.35.0", "replicas": 5}]}});
    let changed = with(cluster(), before);
    let of = |reference: Reference| {
        let mut observed = observed(&changed);
        observed.control_plane = reference;
        status(&observed)["controlPlane"].clone()
    };
    let all = of(object("Plane", reported));
    assert_eq!(numbers(&all), [3, 3, 2, 1, 3].map(Some));
    assert_eq!(all["versions"], json!([{"version": "v1.36.0", "replicas": 3}]));
    let some = of(object("Plane", json!({"/status/replicas": 4})));
    assert_eq!(numbers(&some), [5, 4, 5, 5, 5].map(Some), "the others keep their values");
    assert_eq!(some["versions"], Value::Null);
    assert_eq!(of(Reference::NotFound), Value::Null);
    assert_eq!(of(Reference::Failed("refused".to_owned())), Value::Null);

    let Reference::Found(mut older) = object(
        "Plane",
        json!({"/spec/replicas": 3, "/status/unavailableReplicas": 4,
        "/status/updatedReplicas": 1, "/status/readyReplicas": 2, "/status/replicas": 3}),
    ) else {
        panic!()
    };
    older.contract = "v1beta1";
    assert_eq!(numbers(&of(Reference::Found(older))), [3, 3, 2, 0, 1].map(Some), "contract v1beta1");
}

#[test]
fn without_a_control_plane_object_its_machines_count() {
    let alone = with(cluster(), json!({"/spec/controlPlaneRef": null}));
    let mut observed = observed(&alone);
    observed.control_plane = Reference::None;
    assert_eq!(status(&observed)["controlPlane"], Value::Null);
    let ready = json!({"/status/conditions": [{"type": "Ready", "status": "True", "reason": "", "message": "", "lastTransitionTime": "2026-11-21T00:30:00Z"}]});
    observed.control_plane_machines = vec![machine("a", ready), machine("b", json!({}))];
    let counted = status(&observed)["controlPlane"].clone();
    assert_eq!(numbers(&counted), [2, 2, 1, 0, 0].map(Some));
    assert_eq!(counted["versions"], json!([{"version": "v1.35.0", "replicas": 2}]));
    let topology = json!({"/spec/topology": {"classRef": {"name": "c"}, "version": "v1.36.0"}});
    observed.cluster = crate::core::machine_set::parse(&with(alone, topology));
    assert_eq!(status(&observed)["controlPlane"], Value::Null, "a topology will make the object");
}
