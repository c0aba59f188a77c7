//! These controllers change nothing in a cluster that Cluster API's own controllers have settled. Each line of
//! `data/resting.jsonl` holds the objects of a settled cluster, recorded from Cluster API v1.14.0 after it
//! was created, scaled and upgraded, and with health checks that find all workers healthy, or too many unhealthy.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use cluster_core::machine_health_check::{MachineNode, Target};
use cluster_core::{Reference, cluster, machine, machine_deployment, machine_health_check, machine_set};
use engine::names::CONTROL_PLANE;
use engine::object::{label, uid};
use engine::patch::{Difference, difference};
use engine::steps::Apply;
use engine::{Action, ExternalObject, Health, owners};
use k8s_openapi::api::core::v1::Node;
use kube::core::ApiResource;
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine, MachineDeployment, MachineHealthCheck, MachineSet};
use schemas::meta::ContractVersionedObjectReference;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

struct Snapshot {
    after: String,
    objects: Vec<Value>,
    now: DateTime<Utc>,
}

fn snapshots() -> Vec<Snapshot> {
    let lines = include_str!("data/resting.jsonl").lines();
    let later = machinery::clock::parse_rfc3339("2026-11-21T04:00:00Z").unwrap();
    lines
        .map(|line| {
            let value: Value = serde_json::from_str(line).unwrap();
            Snapshot {
                after: value["after"].as_str().unwrap().to_owned(),
                objects: value["objects"].as_array().unwrap().clone(),
                now: value["now"].as_str().and_then(machinery::clock::parse_rfc3339).unwrap_or(later),
            }
        })
        .collect()
}

impl Snapshot {
    fn all<K: DeserializeOwned>(&self, kind: &str) -> Vec<Arc<K>> {
        let objects = self.objects.iter().filter(|object| object["kind"] == kind);
        objects.map(|object| Arc::new(serde_json::from_value(object.clone()).unwrap())).collect()
    }

    fn reference(&self, reference: Option<&ContractVersionedObjectReference>) -> Reference {
        let Some(reference) = reference else { return Reference::None };
        let found = self.objects.iter().find(|object| {
            object["kind"] == reference.kind.as_str() && object["metadata"]["name"] == reference.name.as_str()
        });
        found.map_or(Reference::NotFound, |object| Reference::Found(external(object)))
    }

    fn cluster(&self) -> Arc<Cluster> {
        self.all("Cluster").remove(0)
    }

    fn healthy(&self) -> Health {
        Health { connected: true, last_success: Some(self.now), failures: 0 }
    }
}

fn external(object: &Value) -> ExternalObject {
    let api_version = object["apiVersion"].as_str().unwrap();
    let (group, version) = api_version.split_once('/').unwrap();
    let kind = object["kind"].as_str().unwrap();
    ExternalObject {
        object: Arc::new(serde_json::from_value(object.clone()).unwrap()),
        resource: ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            plural: engine::contract::plural(kind),
        },
        contract: "v1beta2",
    }
}

/// Returns the Node of a settled Machine.
fn node(machine: &Machine) -> Option<Arc<Node>> {
    let status = machine.status.as_ref()?;
    let name = &status.node_ref.as_ref()?.name;
    let ready = machine.condition("NodeReady")?;
    let (text, reason) = match ready.message.strip_prefix("* Node.Ready: ") {
        Some(text) => (text, "KubeletNotReady"),
        None => ("", "KubeletReady"),
    };
    let condition = |type_: &str, value: &str| {
        json!({"type": type_, "status": value, "reason": reason, "message": text,
            "lastTransitionTime": ready.last_transition_time})
    };
    let node = json!({
        "metadata": {"name": name}, "spec": {"providerID": machine.spec.provider_id},
        "status": {"nodeInfo": status.node_info, "conditions": [
            condition("Ready", &ready.status), condition("MemoryPressure", "False"),
            condition("DiskPressure", "False"), condition("PIDPressure", "False")]},
    });
    Some(Arc::new(serde_json::from_value(node).unwrap()))
}

fn check<K: Serialize>(snapshot: &Snapshot, name: &Option<String>, before: &K, after: &K) {
    let (before, mut after) = (serde_json::to_value(before).unwrap(), serde_json::to_value(after).unwrap());
    // Some of the recordings lack the conditions for clients of v1beta1.
    let older = "/status/deprecated/v1beta1";
    if before.pointer(older).is_some_and(|older| older.get("conditions").is_none())
        && let Some(older) = after.pointer_mut(older).and_then(Value::as_object_mut)
    {
        older.remove("conditions");
    }
    let found = difference(&before, &after);
    assert_eq!(found, Difference::default(), "after {}: {name:?}", snapshot.after);
}

#[test]
fn clusters() {
    for snapshot in snapshots() {
        let cluster = snapshot.cluster();
        let (control_plane_machines, worker_machines) = snapshot
            .all::<Machine>("Machine")
            .into_iter()
            .partition(|machine| label(machine.as_ref(), CONTROL_PLANE).is_some());
        let observed = cluster::Observed {
            infrastructure: snapshot.reference(cluster.spec.infrastructure_ref.as_ref()),
            control_plane: snapshot.reference(cluster.spec.control_plane_ref.as_ref()),
            control_plane_machines,
            worker_machines,
            deployments: snapshot.all("MachineDeployment"),
            sets: snapshot.all("MachineSet"),
            pools: Vec::new(),
            class: None,
            features: Default::default(),
            health: snapshot.healthy(),
            connection_problem: None,
            has_kubeconfig: true,
            authority: None,
            now: snapshot.now,
            cluster,
        };
        let plan = cluster::plan(&observed);
        assert!(plan.errors.is_empty() && plan.steps.is_empty(), "{plan:?}");
        check(&snapshot, &observed.cluster.metadata.name, observed.cluster.as_ref(), &plan.wanted);
    }
}

#[test]
fn machines() {
    for snapshot in snapshots() {
        for machine in snapshot.all::<Machine>("Machine") {
            let sets: Vec<Arc<MachineSet>> = snapshot.all("MachineSet");
            let set =
                sets.into_iter().find(|set| owners::is_controlled_by(machine.as_ref(), uid(set.as_ref())));
            let observed = machine::Observed {
                cluster: snapshot.cluster(),
                deployment: set.as_ref().map(|_| snapshot.all("MachineDeployment").remove(0)),
                set,
                bootstrap: snapshot.reference(machine.spec.bootstrap.config_ref.as_ref()),
                data_secret_problem: None,
                infrastructure: snapshot.reference(Some(&machine.spec.infrastructure_ref)),
                node: node(&machine).map_or(machine::NodeState::Absent, machine::NodeState::Found),
                propagates_taints: false,
                health: snapshot.healthy(),
                control_plane: Reference::None,
                has_control_plane_machines: true,
                drain_rules: Vec::new(),
                pods: machine::OnDemand::NotRead,
                evictions: BTreeMap::new(),
                volumes: machine::OnDemand::NotRead,
                node_deletion_since: None,
                updates_in_place: true,
                last_update: None,
                now: snapshot.now,
                machine,
            };
            let mut plan = machine::plan(&observed);
            let status = observed.machine.status.as_ref();
            let deprecated = status.and_then(|status| status.deprecated.as_ref());
            let older = deprecated.and_then(|deprecated| deprecated.v1beta1.as_ref());
            if older.is_none_or(|older| older.conditions.is_empty()) {
                // These were left out of the first recordings.
                plan.machine.status.as_mut().unwrap().deprecated = deprecated.cloned();
            }
            assert!(plan.errors.is_empty() && plan.external.is_empty() && plan.events.is_empty(), "{plan:?}");
            check(&snapshot, &observed.machine.metadata.name, observed.machine.as_ref(), &plan.machine);
        }
    }
}

#[test]
fn machine_sets() {
    for snapshot in snapshots() {
        let cluster = snapshot.cluster();
        for set in snapshot.all::<MachineSet>("MachineSet") {
            let spec = &set.spec.template.spec;
            let mut machines: Vec<Arc<Machine>> = snapshot.all("Machine");
            machines.retain(|machine| owners::is_controlled_by(machine.as_ref(), uid(set.as_ref())));
            let observed = machine_set::Observed {
                bootstrap: snapshot.reference(spec.bootstrap.config_ref.as_ref()),
                infrastructure: snapshot.reference(Some(&spec.infrastructure_ref)),
                control_plane: snapshot.reference(cluster.spec.control_plane_ref.as_ref()),
                cluster: cluster.clone(),
                deployment: snapshot.all("MachineDeployment").pop(),
                target: None,
                parts: Vec::new(),
                features: Default::default(),
                suffixes: Vec::new(),
                now: snapshot.now,
                machines,
                set,
            };
            let plan = machine_set::plan(&observed);
            assert!(plan.errors.is_empty(), "{plan:?}");
            assert!(plan.steps.texts().iter().all(|step| step.starts_with("apply Machine ")), "{plan:?}");
            check(&snapshot, &observed.set.metadata.name, observed.set.as_ref(), &plan.wanted);
            for Apply { read, wanted, .. } in plan.steps.of::<Apply<Machine>>() {
                contains(read.as_deref().unwrap(), wanted);
            }
        }
    }
}

#[test]
fn machine_deployments() {
    for snapshot in snapshots() {
        let deployment: Arc<MachineDeployment> = snapshot.all("MachineDeployment").remove(0);
        let spec = &deployment.spec.template.spec;
        let mut machines: Vec<Arc<Machine>> = snapshot.all("Machine");
        machines.retain(|machine| label(machine.as_ref(), CONTROL_PLANE).is_none());
        let observed = machine_deployment::Observed {
            cluster: snapshot.cluster(),
            sets: snapshot.all("MachineSet"),
            bootstrap: snapshot.reference(spec.bootstrap.config_ref.as_ref()),
            infrastructure: snapshot.reference(Some(&spec.infrastructure_ref)),
            suffix: "aaaaa".to_owned(),
            updates_in_place: true,
            updates: Default::default(),
            now: snapshot.now,
            machines,
            deployment,
        };
        let plan = machine_deployment::plan(&observed);
        assert!(plan.errors.is_empty(), "{plan:?}");
        assert!(plan.steps.texts().iter().all(|step| step.starts_with("apply MachineSet ")), "{plan:?}");
        check(&snapshot, &observed.deployment.metadata.name, observed.deployment.as_ref(), &plan.wanted);
        for Apply { read, wanted, .. } in plan.steps.of::<Apply<MachineSet>>() {
            contains(read.as_deref().unwrap(), wanted);
        }
    }
}

#[test]
fn machine_health_checks() {
    let mut results = Vec::new();
    for snapshot in snapshots() {
        for health_check in snapshot.all::<MachineHealthCheck>("MachineHealthCheck") {
            let mut machines: Vec<Arc<Machine>> = snapshot.all("Machine");
            machines.retain(|machine| label(machine.as_ref(), CONTROL_PLANE).is_none());
            let target = |machine: Arc<Machine>| {
                let node = node(&machine).map(MachineNode::Found).unwrap_or_default();
                Target { machine, node, request: Reference::None }
            };
            let observed = machine_health_check::Observed {
                cluster: snapshot.cluster(),
                targets: Some(machines.into_iter().map(target).collect()),
                template: Reference::None,
                now: snapshot.now,
                check: health_check,
            };
            let plan = machine_health_check::plan(&observed);
            assert!(plan.marks.is_empty() && plan.errors.is_empty() && plan.events.is_empty(), "{plan:?}");
            assert_eq!(plan.action, Action::done());
            check(&snapshot, &observed.check.metadata.name, observed.check.as_ref(), &plan.check);
            results.push(plan.check.condition("RemediationAllowed").unwrap().reason.clone());
        }
    }
    assert_eq!(results, ["RemediationAllowed", "TooManyUnhealthy"]);
}

/// Asserts that `whole` already contains everything that would be applied.
fn contains<K: Serialize>(whole: &K, part: &K) {
    fn compare(path: &str, whole: &Value, part: &Value) {
        match (whole, part) {
            (Value::Object(whole), Value::Object(part)) => {
                for (key, value) in part {
                    compare(&format!("{path}.{key}"), whole.get(key).unwrap_or(&Value::Null), value);
                }
            }
            _ => assert_eq!(whole, part, "{path}"),
        }
    }
    compare("", &serde_json::to_value(whole).unwrap(), &serde_json::to_value(part).unwrap());
}
