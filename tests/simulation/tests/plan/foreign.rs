//! Plans with infrastructure of other providers, for which stand-ins act.

use std::time::Duration;

use anyhow::{Result, ensure};
use chrono::{DateTime, Utc};
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::{Document, parse};
use firstlight::plan::stand_ins::StandIns;
use firstlight::plan::view::View;
use firstlight::plan::{Ending, State};
use serde_json::{Value, json};
use simulation::simulation::{Life, Simulation};
use store::Prefix;

use super::server::{DURATIONS, planned, until_complete};

const DEFINITIONS: [(&str, &str); 3] = [
    ("CloudCluster", "cloudclusters"),
    ("CloudMachine", "cloudmachines"),
    ("CloudMachineTemplate", "cloudmachinetemplates"),
];

/// The definition of a kind with any content.
fn definition(kind: &str, plural: &str) -> Value {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.infrastructure.cluster.x-k8s.io"),
            "labels": {"cluster.x-k8s.io/v1beta1": "v1"}},
        "spec": {
            "group": "infrastructure.cluster.x-k8s.io", "scope": "Namespaced",
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase()},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": any}, "subresources": {"status": {}}}],
        },
    })
}

/// The part of a configuration of kubeadm that may not be empty.
fn node() -> Value {
    json!({"nodeRegistration": {"criSocket": "unix:///run/containerd.sock"}})
}

fn cluster(version: &str) -> Vec<Value> {
    let object = |api: &str, kind: &str, name: &str, spec: Value| json!({"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec});
    let cloud = |kind: &str, name: &str| json!({"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": kind, "name": name});
    let api = "infrastructure.cluster.x-k8s.io/v1";
    vec![
        object(
            "cluster.x-k8s.io/v1beta2",
            "Cluster",
            "sky",
            json!({
                "infrastructureRef": cloud("CloudCluster", "sky"),
                "controlPlaneRef": {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "sky"},
            }),
        ),
        object(api, "CloudCluster", "sky", json!({"region": "north"})),
        object(api, "CloudMachineTemplate", "sky", json!({"template": {"spec": {"size": "large"}}})),
        object(
            "controlplane.cluster.x-k8s.io/v1beta2",
            "KubeadmControlPlane",
            "sky",
            json!({
                "replicas": 3, "version": version,
                "machineTemplate": {"spec": {"infrastructureRef": cloud("CloudMachineTemplate", "sky")}},
                "kubeadmConfigSpec": {"joinConfiguration": node()},
            }),
        ),
        object(
            "bootstrap.cluster.x-k8s.io/v1beta2",
            "KubeadmConfigTemplate",
            "sky",
            json!({"template": {"spec": {"joinConfiguration": node()}}}),
        ),
        object(
            "cluster.x-k8s.io/v1beta2",
            "MachineDeployment",
            "sky",
            json!({
                "clusterName": "sky", "replicas": 2, "selector": {"matchLabels": {}},
                "template": {"spec": {
                    "clusterName": "sky", "version": version,
                    "bootstrap": {"configRef": {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": "sky"}},
                    "infrastructureRef": cloud("CloudMachineTemplate", "sky"),
                }},
            }),
        ),
    ]
}

fn documents(objects: &[Value]) -> Result<Vec<Document>> {
    let texts: Vec<String> = objects.iter().map(Value::to_string).collect();
    Ok(parse("cluster.yaml", &texts.join("\n---\n"))?)
}

#[test]
fn a_cluster_of_another_provider_is_created_after_the_given_durations() -> Result<()> {
    let objects: Vec<Value> = DEFINITIONS.iter().map(|(kind, plural)| definition(kind, plural)).collect();
    let documents = documents(&[objects, cluster("v1.35.0")].concat())?;
    let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap_or_default();
    let plan = planned(&(State::default(), now), &documents)?;
    ensure!(plan.ending == Ending::Finished && plan.notes.is_empty(), "{plan:#?}");
    ensure!((plan.machines.created, plan.machines.deleted) == (5, 0), "{plan:#?}");
    // The infrastructure, three machines of the control plane one after the other; the workers start beside the second.
    ensure!((60 + 3 * 240..60 + 3 * 240 + 60).contains(&plan.seconds), "{} s", plan.seconds);
    Ok(())
}

/// Acts for the provider on a server.
async fn act(life: &Life) -> Result<()> {
    let mut stand_ins = StandIns::new(&life.plane, &life.manager, DURATIONS);
    let mut watcher = life.store.watch(&Prefix::all(), life.store.revision())?;
    let mut view = View::default();
    loop {
        while let Some(event) = watcher.try_next()? {
            view.observe(&event);
        }
        stand_ins.step(&view, life.clock.now()).await;
        if let Ok(event) = tokio::time::timeout(Duration::from_secs(5), watcher.next()).await {
            view.observe(event?.as_ref());
        }
    }
}

/// Returns the state of a server with a cluster of another provider, which runs.
fn existing() -> Result<(State, DateTime<Utc>)> {
    let objects: Vec<Value> = DEFINITIONS.iter().map(|(kind, plural)| definition(kind, plural)).collect();
    let documents = documents(&[objects, cluster("v1.35.0")].concat())?;
    let mut simulation = Simulation::new(1);
    let state = simulation.live(async |life, _| {
        let read = async {
            apply_all(&life.plane.registry, &life.plane.client("user"), &documents).await?;
            until_complete(life).await?;
            State::read(life.plane.client("user"), "https://server".to_owned(), "default").await
        };
        tokio::select! {
            biased;
            outcome = act(life) => outcome.map(|()| State::default()),
            state = read => state,
        }
    })?;
    Ok((state, simulation.now()))
}

#[test]
fn machines_of_another_provider_that_run_are_not_started_again_and_are_upgraded() -> Result<()> {
    let state = existing()?;
    let plan = planned(&state, &documents(&cluster("v1.35.0"))?)?;
    ensure!(plan.ending == Ending::NothingToDo && plan.actions.is_empty(), "{plan:#?}");
    let plan = planned(&state, &documents(&cluster("v1.36.0"))?)?;
    ensure!(plan.ending == Ending::Finished && plan.notes.is_empty(), "{plan:#?}");
    ensure!((plan.machines.created, plan.machines.deleted) == (5, 5), "{plan:#?}");
    ensure!(plan.machines.fewest_available >= 4, "{:?}", plan.machines);
    ensure!(plan.seconds >= 3 * 240, "{} s", plan.seconds);
    Ok(())
}
