//! Unhealthy workers against the real API server: they are replaced, or an external controller is asked.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::sync::Arc;

use engine::object::{is_deleting, uid};
use engine::{NamespacedName, conditions};
use k8s_openapi::api::core::v1::{Event, Node};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine, MachineHealthCheck};
use schemas::infrastructure::Metal3Remediation;
use serde_json::{Value, json};

use crate::core::lifecycle::{is_available, is_control_plane, name, plain, settle};
use crate::core::support::Fixture;

/// A MachineHealthCheck for the workers, for which a Node may be not ready for 10 seconds.
fn check(remediation: Value) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineHealthCheck", "metadata": {"name": "workers", "namespace": "default"},
        "spec": {
            "clusterName": "plain", "selector": {"matchLabels": {"pool": "plain-md"}}, "remediation": remediation,
            "checks": {"unhealthyNodeConditions": [{"type": "Ready", "status": "False", "timeoutSeconds": 10}]},
        },
    })
}

fn workers(fixture: &Fixture) -> Vec<Arc<Machine>> {
    let mut machines = fixture.objects::<Machine>().all();
    machines.retain(|machine| !is_control_plane(machine));
    machines
}

fn are_healthy(fixture: &Fixture, count: i32) -> bool {
    let check = fixture.objects::<MachineHealthCheck>().get(&name("workers"));
    let status = check.and_then(|check| check.status.clone()).unwrap_or_default();
    let healthy =
        workers(fixture).iter().filter(|machine| machine.condition_is_true("HealthCheckSucceeded")).count();
    status.current_healthy == Some(count) && i32::try_from(healthy).unwrap() == count
}

/// What a kubelet that fails says.
async fn become_sick(fixture: &Fixture, machine: &Machine) {
    let node = machine.status.as_ref().unwrap().node_ref.as_ref().unwrap().name.clone();
    let condition = |type_: &str, status: &str| {
        let now = machinery::clock::rfc3339(fixture.manager.clock().now());
        json!({"type": type_, "status": status, "reason": "KubeletNotReady", "lastTransitionTime": now})
    };
    let conditions = [
        condition("Ready", "False"),
        condition("MemoryPressure", "False"),
        condition("DiskPressure", "False"),
        condition("PIDPressure", "False"),
    ];
    let nodes = kube::Api::<Node>::all(fixture.workload.clone());
    let patch = Patch::Merge(json!({"status": {"conditions": conditions}}));
    nodes.patch(&node, &PatchParams::default(), &patch).await.unwrap();
}

async fn events(fixture: &Fixture, reason: &str) -> Vec<Event> {
    let events: kube::Api<Event> = kube::Api::default_namespaced(fixture.manager.client().clone());
    let mut events = events.list(&ListParams::default()).await.unwrap().items;
    events.retain(|event| event.reason.as_deref() == Some(reason));
    events
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_stays_sick_is_replaced() {
    let fixture = Fixture::start(1).await;
    fixture.create(plain(3)).await;
    fixture.create(vec![check(json!({"triggerIf": {"unhealthyLessThanOrEqualTo": "40%"}}))]).await;
    fixture.until("available", |_| is_available(&fixture, 3)).await;
    fixture.until("healthy", |_| are_healthy(&fixture, 3)).await;
    let cluster = fixture.objects::<Cluster>().get(&name("plain")).unwrap();
    let check = fixture.objects::<MachineHealthCheck>().get(&name("workers")).unwrap();
    assert!(engine::owners::is_owned_by(check.as_ref(), uid(cluster.as_ref())));
    settle(&fixture, "healthy").await;

    let start = fixture.manager.clock().monotonic();
    let sick = workers(&fixture).remove(0);
    become_sick(&fixture, &sick).await;
    let is_gone =
        |_: &_| !workers(&fixture).iter().any(|machine| uid(machine.as_ref()) == uid(sick.as_ref()));
    fixture.until("gone", is_gone).await;
    let took = fixture.manager.clock().monotonic() - start;
    assert!((10..13).contains(&took.as_secs()), "{took:?}");
    fixture.until("replaced", |_| is_available(&fixture, 3) && are_healthy(&fixture, 3)).await;
    let marked = events(&fixture, "MachineMarkedUnhealthy").await;
    let name = sick.metadata.name.as_deref().unwrap();
    let message = format!("Machine default/{name} has been marked as unhealthy by default/workers");
    assert_eq!(marked.len(), 1);
    assert_eq!((marked[0].message.as_deref(), marked[0].count), (Some(message.as_str()), Some(1)));
    settle(&fixture, "replaced").await;

    let all = workers(&fixture);
    become_sick(&fixture, &all[0]).await;
    become_sick(&fixture, &all[1]).await;
    let is_restricted = |_: &_| {
        let check = fixture.objects::<MachineHealthCheck>().get(&self::name("workers"));
        let reason = check.and_then(|check| Some(check.condition("RemediationAllowed")?.reason.clone()));
        let is_failed = |machine: &&Arc<Machine>| {
            conditions::has(machine.conditions(), "HealthCheckSucceeded", conditions::FALSE)
        };
        reason.as_deref() == Some("TooManyUnhealthy")
            && workers(&fixture).iter().filter(is_failed).count() == 2
    };
    fixture.until("restricted", is_restricted).await;
    settle(&fixture, "restricted").await;
    assert_eq!(workers(&fixture).iter().filter(|machine| is_deleting(machine.as_ref())).count(), 0);
    assert_eq!(events(&fixture, "RemediationRestricted").await.len(), 1);
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_metal3_remediation_is_made_and_deleted() {
    let fixture = Fixture::start(1).await;
    fixture.create(plain(1)).await;
    let infrastructure = "infrastructure.cluster.x-k8s.io/v1beta2";
    let reference =
        json!({"apiVersion": infrastructure, "kind": "Metal3RemediationTemplate", "name": "reboot"});
    fixture.create(vec![check(json!({"templateRef": reference}))]).await;
    fixture.until("available", |_| is_available(&fixture, 1)).await;
    fixture.until("healthy", |_| are_healthy(&fixture, 1)).await;
    let machine = workers(&fixture).remove(0);
    let (machines, key) = (fixture.objects::<Machine>(), NamespacedName::of(machine.as_ref()));
    let reason = || {
        let machine = machines.get(&key)?;
        Some(machine.condition("ExternallyRemediated")?.reason.clone())
    };
    become_sick(&fixture, &machine).await;
    fixture.until("no template", |_| reason().as_deref() == Some("RemediationTemplateNotFound")).await;

    let strategy = json!({"type": "Reboot", "retryLimit": 1, "timeoutSeconds": 300});
    fixture
        .create(vec![json!({"apiVersion": infrastructure, "kind": "Metal3RemediationTemplate",
            "metadata": {"name": "reboot", "namespace": "default"},
            "spec": {"template": {"spec": {"strategy": strategy}}}})])
        .await;
    let remediations = fixture.objects::<Metal3Remediation>();
    fixture.until("asked", |_| remediations.get(&key).is_some()).await;
    fixture.until("marked", |_| reason().as_deref() == Some("WaitingForRemediation")).await;
    let remediation = remediations.get(&key).unwrap();
    let owner = engine::owners::find(remediation.as_ref(), Machine::GROUP, Machine::KIND).unwrap();
    assert_eq!((owner.name.as_str(), owner.uid.as_str()), (key.name.as_str(), uid(machine.as_ref())));
    assert_eq!(serde_json::to_value(&remediation.spec.strategy).unwrap(), strategy);
    settle(&fixture, "asked").await;
    assert!(!is_deleting(machines.get(&key).unwrap().as_ref()), "the external controller decides");

    let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    let nodes = kube::Api::<Node>::all(fixture.workload.clone());
    nodes.patch(&key.name, &PatchParams::default(), &Patch::Merge(ready)).await.unwrap();
    fixture.until("healthy again", |_| are_healthy(&fixture, 1) && remediations.get(&key).is_none()).await;
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_of_no_contract_is_used_in_the_version_of_the_reference() {
    let fixture = Fixture::start(1).await;
    fixture.create(plain(1)).await;
    fixture.until("available", |_| is_available(&fixture, 1)).await;
    let definitions: kube::Api<CustomResourceDefinition> = kube::Api::all(fixture.manager.client().clone());
    let open = json!({"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
    for (kind, plural) in [("RebootTemplate", "reboottemplates"), ("Reboot", "reboots")] {
        let versions =
            json!([{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": open}}]);
        let names = json!({"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")});
        let definition = json!({"metadata": {"name": format!("{plural}.remedies.test")},
            "spec": {"group": "remedies.test", "scope": "Namespaced", "names": names, "versions": versions}});
        let definition = serde_json::from_value(definition).unwrap();
        definitions.create(&PostParams::default(), &definition).await.unwrap();
    }
    let reference = json!({"apiVersion": "remedies.test/v1", "kind": "RebootTemplate", "name": "hard"});
    fixture
        .create(vec![
            json!({"apiVersion": "remedies.test/v1", "kind": "RebootTemplate",
                "metadata": {"name": "hard", "namespace": "default"}, "spec": {"template": {"spec": {"hard": true}}}}),
            check(json!({"templateRef": reference})),
        ])
        .await;
    fixture.until("healthy", |_| are_healthy(&fixture, 1)).await;
    let machine = workers(&fixture).remove(0);
    become_sick(&fixture, &machine).await;
    let resource = ApiResource {
        group: "remedies.test".to_owned(),
        version: "v1".to_owned(),
        api_version: "remedies.test/v1".to_owned(),
        kind: "Reboot".to_owned(),
        plural: "reboots".to_owned(),
    };
    let (reboots, key) = (fixture.manager.dynamic(&resource), NamespacedName::of(machine.as_ref()));
    fixture.until("asked", |_| reboots.get(&key).is_some()).await;
    assert_eq!(reboots.get(&key).unwrap().data["spec"], json!({"hard": true}));
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_not_served_holds_up_nothing() {
    let fixture = Fixture::start(1).await;
    fixture.create(plain(1)).await;
    fixture.until("available", |_| is_available(&fixture, 1)).await;
    let references = ["metal3.io/v8", "metal3.io/v9"]
        .map(|version| json!({"apiVersion": version, "kind": "BareMetalHostTemplate", "name": "reboot"}));
    for (number, reference) in references.into_iter().enumerate() {
        let mut check = check(json!({"templateRef": reference}));
        check["metadata"]["name"] = format!("workers-{number}").into();
        fixture.create(vec![check]).await;
    }
    let machine = workers(&fixture).remove(0);
    become_sick(&fixture, &machine).await;
    let (machines, key) = (fixture.objects::<Machine>(), NamespacedName::of(machine.as_ref()));
    fixture
        .until("sick", |_| {
            machines.get(&key).is_some_and(|machine| {
                conditions::has(machine.conditions(), "HealthCheckSucceeded", conditions::FALSE)
            })
        })
        .await;
    assert!(
        fixture.manager.is_synced(),
        "a kind that cannot be listed has no cache, which would never be complete"
    );
    fixture.manager.stop().await;
}
