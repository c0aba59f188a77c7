//! Which volumes a Machine's deletion waits for.

use std::sync::Arc;

use cluster_core::machine::{self, NodeVolumes, OnDemand};
use schemas::HasConditions;
use serde_json::{Value, json};

use super::{deleting_machine, pods, read};

/// Returns a Machine whose Node's status has these volumes, and whose VolumeAttachments and PersistentVolumes
/// are these.
fn with(in_status: &[&str], attached: &[&str], volumes: Vec<Value>) -> machine::Observed {
    let names: Vec<Value> = in_status.iter().map(|name| json!({"name": name, "devicePath": ""})).collect();
    let node = json!({"metadata": {"name": "m"}, "spec": {"providerID": "id", "unschedulable": true},
        "status": {"volumesAttached": names}});
    let volumes = NodeVolumes {
        attached: attached.iter().map(|name| (*name).to_owned()).collect(),
        persistent_volumes: volumes.into_iter().map(|value| Arc::unwrap_or_clone(read(value))).collect(),
    };
    machine::Observed {
        node: machine::NodeState::Found(read(node)),
        volumes: OnDemand::Found(volumes),
        ..deleting_machine(json!({}))
    }
}

/// Returns a PersistentVolume of a CSI driver.
fn volume(name: &str, claim: Option<&str>) -> Value {
    let claim = claim.map(|claim| json!({"namespace": "n", "name": claim}));
    json!({"metadata": {"name": name}, "spec": {"csi": {"driver": "d", "volumeHandle": format!("h-{name}")}, "claimRef": claim}})
}

fn condition(observed: &machine::Observed) -> (String, String) {
    let plan = machine::plan(observed);
    let condition = plan.machine.condition("Deleting").unwrap();
    (condition.reason.clone(), condition.message.clone())
}

#[test]
fn volumes_are_waited_for_by_their_claims() {
    const HEAD: &str = "Waiting for Node volumes to be detached (started at 2026-11-21T00:00:00Z)";
    let both = || vec![volume("one", Some("c1")), volume("two", Some("c2"))];
    let rows: [(&str, machine::Observed, Option<&str>); 7] = [
        ("none", with(&[], &[], vec![]), None),
        (
            "in the status",
            with(&["kubernetes.io/csi/d^h-one"], &[], both()),
            Some("\n* PersistentVolumeClaims: n/c1"),
        ),
        ("attached", with(&[], &["two"], both()), Some("\n* PersistentVolumeClaims: n/c2")),
        (
            "both",
            with(&["kubernetes.io/csi/d^h-one"], &["one", "two"], both()),
            Some("\n* PersistentVolumeClaims: n/c1, n/c2"),
        ),
        (
            "without a claim",
            with(&[], &["one"], vec![volume("one", None)]),
            Some("\n* PersistentVolumes without a .spec.claimRef to a PersistentVolumeClaim: one"),
        ),
        (
            "unknown",
            with(&["kubernetes.io/vsphere/x"], &["three"], both()),
            Some(
                "\n* Node with .status.volumesAttached entries not matching a PersistentVolume: kubernetes.io/vsphere/x\
                  \n* VolumeAttachment with .spec.source.persistentVolumeName not matching a PersistentVolume: three",
            ),
        ),
        (
            "unreadable",
            machine::Observed {
                volumes: OnDemand::Failed("list VolumeAttachments: refused".into()),
                ..with(&[], &[], vec![])
            },
            Some("\n* list VolumeAttachments: refused"),
        ),
    ];
    for (what, observed, message) in rows {
        let (reason, found) = condition(&observed);
        match message {
            None => assert_eq!(reason, "WaitingForInfrastructureDeletion", "{what}"),
            Some(message) => {
                assert_eq!(
                    (reason.as_str(), found),
                    ("WaitingForVolumeDetach", format!("{HEAD}{message}")),
                    "{what}"
                );
            }
        }
    }
}

/// The volumes of Pods that stay on the Node stay attached.
#[test]
fn claims_of_pods_that_are_left_alone_are_ignored() {
    let pod = |name: &str, skipped: bool, volumes: Value| {
        let labels = if skipped { json!({"cluster.x-k8s.io/drain": "skip"}) } else { json!({}) };
        json!({"metadata": {"name": name, "namespace": "n", "labels": labels}, "spec": {"volumes": volumes}})
    };
    let claim =
        json!([{"name": "v", "persistentVolumeClaim": {"claimName": "c1"}}, {"name": "e", "ephemeral": {}}]);
    let list = vec![pod("p", true, claim)];
    let volumes = |more: Option<Value>| {
        [vec![volume("one", Some("c1")), volume("two", Some("p-e"))], more.into_iter().collect()].concat()
    };
    let observed =
        machine::Observed { pods: pods(list.clone()), ..with(&[], &["one", "two"], volumes(None)) };
    assert_eq!(condition(&observed).0, "WaitingForInfrastructureDeletion");
    let mut completed = list.clone();
    completed[0]["metadata"]["labels"] = json!({"cluster.x-k8s.io/drain": "wait-completed"});
    completed[0]["status"] = json!({"phase": "Succeeded"});
    let observed = machine::Observed { pods: pods(completed), ..with(&[], &["one", "two"], volumes(None)) };
    assert!(condition(&observed).1.ends_with("\n* PersistentVolumeClaims: n/c1, n/p-e"));
    let more = volumes(Some(volume("three", Some("c3"))));
    let observed = machine::Observed { pods: pods(list), ..with(&[], &["one", "two", "three"], more) };
    assert!(condition(&observed).1.ends_with("\n* PersistentVolumeClaims: n/c3"));
}

#[test]
fn waiting_for_volumes_is_skipped_or_ends() {
    let excluded = json!({"machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach": ""});
    let since =
        |at: &str| json!({"nodeRef": {"name": "m"}, "deletion": {"waitForNodeVolumeDetachStartTime": at}});
    let rows = [
        ("waits", json!({}), json!({"nodeRef": {"name": "m"}}), true),
        ("excluded", excluded, json!({"nodeRef": {"name": "m"}}), false),
        ("within its time", json!({}), since("2026-11-20T23:59:01Z"), true),
        ("after its time", json!({}), since("2026-11-20T23:59:00Z"), false),
    ];
    for (what, annotations, status, waits) in rows {
        let mut observed = with(&[], &["one"], vec![volume("one", Some("c1"))]);
        let machine = Arc::make_mut(&mut observed.machine);
        machine.metadata.annotations = serde_json::from_value(annotations).unwrap();
        machine.status = Some(serde_json::from_value(status).unwrap());
        machine.spec.deletion =
            serde_json::from_value(json!({"nodeVolumeDetachTimeoutSeconds": 60})).unwrap();
        assert_eq!(condition(&observed).0 == "WaitingForVolumeDetach", waits, "{what}");
    }
}
