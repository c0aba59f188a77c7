//! What stand-ins do next, as tables over objects.

use std::time::Duration;

use serde_json::{Value, json};

use firstlight::plan::stand_ins::plan::{Durations, Step, wishes};
use firstlight::plan::stand_ins::pools::Versions;
use firstlight::plan::view::View;

const DURATIONS: Durations = Durations {
    machine: Duration::from_secs(3),
    control_plane: Duration::from_secs(5),
    infrastructure: Duration::from_secs(1),
};

fn object(api: &str, kind: &str, name: &str, more: Value) -> Value {
    let mut object = json!({"apiVersion": api, "kind": kind, "metadata": {"namespace": "n", "name": name}});
    for (field, value) in more.as_object().into_iter().flatten() {
        match field.as_str() {
            "metadata" => value.as_object().into_iter().flatten().for_each(|(name, value)| {
                object["metadata"][name] = value.clone();
            }),
            field => object[field] = value.clone(),
        }
    }
    object
}

const CORE: &str = "cluster.x-k8s.io/v1beta2";
const CLOUD: &str = "infrastructure.example/v1";

fn cluster(more: Value) -> Value {
    let infrastructure = json!({"apiGroup": "infrastructure.example", "kind": "CloudCluster", "name": "c"});
    let control_plane =
        json!({"apiGroup": "infrastructure.example", "kind": "CloudControlPlane", "name": "p"});
    let mut cluster = object(
        CORE,
        "Cluster",
        "c",
        json!({"spec": {"infrastructureRef": infrastructure, "controlPlaneRef": control_plane}, "status": more}),
    );
    cluster["spec"]["paused"] = false.into();
    cluster
}

fn machine(labels: Value, bootstrap: Value) -> Value {
    object(
        CORE,
        "Machine",
        "m",
        json!({"metadata": {"labels": labels}, "spec": {
            "clusterName": "c", "bootstrap": bootstrap,
            "infrastructureRef": {"apiGroup": "infrastructure.example", "kind": "CloudMachine", "name": "m"},
        }}),
    )
}

/// Returns the steps with their seconds for these objects.
fn steps(objects: &[Value]) -> Vec<(Step, u64)> {
    let view = View::default().with(objects.to_vec());
    wishes(&view, &DURATIONS, &Versions::new())
        .into_iter()
        .map(|wish| (wish.step, wish.after.as_secs()))
        .collect()
}

#[test]
fn infrastructure_then_control_plane() {
    let cloud = |status: Value| object(CLOUD, "CloudCluster", "c", json!({"status": status}));
    let plane = |spec: Value, status: Value| {
        object(CLOUD, "CloudControlPlane", "p", json!({"spec": spec, "status": status}))
    };
    let fresh = plane(json!({"version": "v1.36.0"}), json!({}));
    let ready = json!({"initialization": {"infrastructureProvisioned": true}});
    assert_eq!(steps(&[cluster(json!({})), cloud(json!({})), fresh.clone()]), [(Step::ProvisionCluster, 1)]);
    let provisioned = cloud(json!({"ready": true}));
    assert_eq!(steps(&[cluster(ready.clone()), provisioned.clone(), fresh]), [(Step::FollowControlPlane, 5)]);
    let (old, new) = (json!({"version": "v1.35.0", "initialized": true}), json!({"version": "v1.36.0"}));
    let upgraded = plane(new.clone(), old);
    assert_eq!(
        steps(&[cluster(ready.clone()), provisioned.clone(), upgraded]),
        [(Step::FollowControlPlane, 5)]
    );
    let done = plane(new, json!({"version": "v1.36.0", "initialization": {"controlPlaneInitialized": true}}));
    assert_eq!(steps(&[cluster(ready.clone()), provisioned.clone(), done]), []);
    let mut paused = cluster(ready);
    paused["spec"]["paused"] = true.into();
    assert_eq!(steps(&[paused, cloud(json!({}))]), []);
}

#[test]
fn a_machine_starts_when_its_data_exist() {
    let ready = json!({"initialization": {"infrastructureProvisioned": true}});
    let cloud = object(CLOUD, "CloudMachine", "m", json!({}));
    let data = json!({"dataSecretName": "m"});
    for (labels, bootstrap, expected) in [
        (json!({}), json!({}), vec![]),
        (json!({}), data.clone(), vec![(Step::ProvisionMachine, 3)]),
        (json!({"cluster.x-k8s.io/control-plane": ""}), data, vec![(Step::ProvisionMachine, 5)]),
    ] {
        let objects = [cluster(ready.clone()), machine(labels, bootstrap), cloud.clone()];
        assert_eq!(steps(&objects), expected);
    }
}

#[test]
fn data_of_another_bootstrap_provider_are_created_at_once() {
    let reference = json!({"apiGroup": "bootstrap.example", "kind": "CloudConfig", "name": "m"});
    let machine = |labels: Value| machine(labels, json!({"configRef": reference}));
    let config = object("bootstrap.example/v1", "CloudConfig", "m", json!({}));
    let cloud = object(CLOUD, "CloudMachine", "m", json!({}));
    let ready = json!({"initialization": {"infrastructureProvisioned": true}});
    let cluster = cluster(ready);
    let worker = [cluster.clone(), machine(json!({})), config.clone(), cloud.clone()];
    assert_eq!(steps(&worker), [], "the control plane comes first");
    let first = machine(json!({"cluster.x-k8s.io/control-plane": ""}));
    assert_eq!(steps(&[cluster, first, config, cloud]), [(Step::CreateData, 0)]);
}

#[test]
fn a_pool_follows_its_control_plane() {
    let pool = |bootstrap: Value| {
        let infrastructure = json!({"apiGroup": "infrastructure.example", "kind": "CloudPool", "name": "c"});
        let template = json!({"spec": {"bootstrap": bootstrap, "infrastructureRef": infrastructure}});
        let spec = json!({"clusterName": "c", "replicas": 2, "template": template});
        object(CORE, "MachinePool", "p", json!({"spec": spec}))
    };
    let config = json!({"configRef": {"apiGroup": "bootstrap.example", "kind": "CloudConfig", "name": "m"}});
    let cloud =
        |spec: Value, status: Value| object(CLOUD, "CloudPool", "c", json!({"spec": spec, "status": status}));
    let (empty, data) = (cloud(json!({}), json!({})), json!({"dataSecretName": "m"}));
    let two = json!({"providerIDList": ["x/1", "x/2"]});
    let all = cloud(two.clone(), json!({"ready": true, "replicas": 2}));
    let more = cloud(json!({"providerIDList": ["x/1", "x/2", "x/3"]}), json!({"ready": true, "replicas": 3}));
    for (initialized, pool, cloud, expected) in [
        (false, pool(data.clone()), &empty, vec![]),
        (true, pool(data.clone()), &empty, vec![(Step::FollowPool, 3)]),
        (true, pool(json!({})), &empty, vec![(Step::FollowPool, 3)]),
        (true, pool(config), &empty, vec![(Step::CreateData, 0)]),
        (
            true,
            pool(data.clone()),
            &cloud(two, json!({"ready": true, "replicas": 0})),
            vec![(Step::FollowPool, 3)],
        ),
        (true, pool(data.clone()), &all, vec![]),
        (true, pool(data), &more, vec![(Step::FollowPool, 0)]),
    ] {
        let status = json!({"initialization": {"infrastructureProvisioned": true, "controlPlaneInitialized": initialized}});
        let config = object("bootstrap.example/v1", "CloudConfig", "m", json!({}));
        assert_eq!(steps(&[cluster(status), pool, config, cloud.clone()]), expected);
    }
}

#[test]
fn what_is_deleted_is_released_unless_its_controller_runs() {
    let deleted = |api: &str, kind: &str| {
        let metadata = json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x"]});
        object(api, kind, "m", json!({"metadata": metadata}))
    };
    assert_eq!(steps(&[deleted(CLOUD, "CloudMachine")]), [(Step::Release, 0)]);
    assert_eq!(steps(&[deleted("infrastructure.cluster.x-k8s.io/v1beta2", "DevMachine")]), []);
    assert_eq!(steps(&[deleted(CORE, "Machine")]), []);
}
