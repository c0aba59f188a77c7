//! MachinePools of another provider in a plan, whose machines are provider IDs.

use std::time::Duration;

use firstlight::manifests::read::parse;
use firstlight::plan::stand_ins::plan::Durations;
use firstlight::plan::state::Kind;
use firstlight::plan::{Ending, Plan, Settings, State, play};
use serde_json::{Value, json};

use crate::plan::from_nothing::SETTINGS;

const GROUP: &str = "infrastructure.example";
const DURATIONS: Durations = Durations {
    machine: Duration::from_secs(100),
    control_plane: Duration::from_secs(2),
    infrastructure: Duration::from_secs(1),
};

fn object(api_version: &str, kind: &str, spec: Value) -> Value {
    let metadata = json!({"namespace": "default", "name": "blue", "uid": format!("uid-of-{kind}")});
    json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec})
}

/// A managed cluster with a pool of workers.
fn objects(replicas: usize, version: &str) -> [Value; 5] {
    let reference = |kind: &str| json!({"apiGroup": GROUP, "kind": kind, "name": "blue"});
    let (core, cloud) = ("cluster.x-k8s.io/v1beta2", "infrastructure.example/v1");
    let parts = (reference("CloudCluster"), reference("CloudPlane"));
    let cluster = json!({"infrastructureRef": parts.0, "controlPlaneRef": parts.1});
    let pool = json!({"clusterName": "blue", "replicas": replicas, "template": {"spec": {
        "clusterName": "blue", "version": version, "bootstrap": {"dataSecretName": "blue"},
        "infrastructureRef": reference("CloudPool"),
    }}});
    [
        object(core, "Cluster", cluster),
        object(cloud, "CloudCluster", json!({})),
        object(cloud, "CloudPlane", json!({"version": version})),
        object(core, "MachinePool", pool),
        object(cloud, "CloudPool", json!({})),
    ]
}

/// The same after it has been running for long, with these machines.
fn running(ids: &[&str], version: &str) -> [Value; 5] {
    let mut objects = objects(ids.len(), version);
    let [cluster, infrastructure, plane, _, pool] = &mut objects;
    cluster["spec"]["controlPlaneEndpoint"] = json!({"host": "blue.invalid", "port": 6443});
    cluster["status"] =
        json!({"initialization": {"infrastructureProvisioned": true, "controlPlaneInitialized": true}});
    let conditions = json!([{"type": "Ready", "status": "True"}, {"type": "Available", "status": "True"}]);
    infrastructure["status"] = json!({"ready": true});
    plane["status"] =
        json!({"initialized": true, "ready": true, "version": version, "conditions": conditions});
    pool["spec"]["providerIDList"] = json!(ids);
    pool["status"] = json!({"ready": true, "replicas": ids.len()});
    objects
}

/// Plays what happens if `wanted` is applied to a server with the objects `present`.
fn played(present: &[Value], wanted: &[Value]) -> Plan {
    let kind = |kind: &str| Kind {
        group: GROUP.to_owned(),
        version: "v1".to_owned(),
        kind: kind.to_owned(),
        plural: format!("{}s", kind.to_lowercase()),
        namespaced: true,
    };
    let kinds = ["CloudCluster", "CloudPlane", "CloudPool"].map(kind).to_vec();
    let server = Some("https://server.invalid".to_owned());
    let state = State { server, kinds, objects: present.to_vec(), ..State::default() };
    let mut wanted = wanted.to_vec();
    for object in &mut wanted {
        object["metadata"].as_object_mut().unwrap().remove("uid");
    }
    let texts: Vec<String> = wanted.iter().map(Value::to_string).collect();
    let documents = parse("blue.yaml", &texts.join("\n---\n")).unwrap();
    play(&state, &documents, &Settings { durations: DURATIONS, ..SETTINGS }).unwrap()
}

const IDS: [&str; 3] = [
    "cloud:///a/i-1",
    "cloud:///a/i-2",
    "azure:///subscriptions/8c3f/Sets/A_pool_whose_name_is_much_longer_than_the_name_of_a_Node_can_ever_be/VM_3",
];

#[test]
fn machines_start_together_end_at_once_and_are_replaced_in_batches() {
    let (none, old): (&[Value], [Value; 5]) = (&[], running(&IDS, "v1.35.0"));
    let many: Vec<String> = (0..29).map(|number| format!("cloud:///a/i-{number}")).collect();
    let many = running(&many.iter().map(String::as_str).collect::<Vec<&str>>(), "v1.35.0");
    for (present, wanted, seconds) in [
        (none, objects(3, "v1.35.0"), 103),
        (&old, objects(3, "v1.35.0"), 0),
        (&old, objects(6, "v1.35.0"), 100),
        (&old, objects(1, "v1.35.0"), 0),
        (&old, objects(3, "v1.36.0"), 300),
        (&old, objects(2, "v1.36.0"), 200),
        (&many, objects(29, "v1.36.0"), 1500),
    ] {
        let plan = played(present, &wanted);
        let is_change = present.is_empty() || wanted[3]["spec"] != old[3]["spec"];
        let ending = if is_change { Ending::Finished } else { Ending::NothingToDo };
        assert_eq!(plan.ending, ending, "{plan:#?}");
        assert!(!plan.notes.iter().any(|note| note.contains("stand-in")), "{:?}", plan.notes);
        assert!((seconds..seconds + 10).contains(&plan.seconds), "{plan:#?}");
    }
}

#[test]
fn what_a_plan_cannot_play_is_said() {
    let mut parts = running(&IDS, "v1.35.0");
    parts[4]["status"]["infrastructureMachineKind"] = "CloudMachine".into();
    let endless = objects(i32::MAX as usize, "v1.35.0");
    for (present, wanted, expected) in [
        (&parts, objects(4, "v1.35.0"), "objects of the kind CloudMachine"),
        (&running(&IDS, "v1.35.0"), endless, "wants 2147483647 machines, and a plan plays 10000 at most"),
    ] {
        let plan = played(present, &wanted);
        assert_eq!(plan.ending, Ending::Unfinished, "{plan:#?}");
        assert!(plan.notes.iter().any(|note| note.contains(expected)), "{:?}", plan.notes);
    }
}
