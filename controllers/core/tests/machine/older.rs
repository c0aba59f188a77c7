//! What clients of v1beta1 read of a Machine.

use std::sync::Arc;

use cluster_core::Reference;
use cluster_core::machine::{self, NodeState, Observed};
use schemas::cluster::Machine;
use serde_json::json;

use super::{bare, infrastructure, running};

/// Type, status, reason, severity and message of the conditions that clients of v1beta1 read.
fn older(machine: &Machine) -> Vec<String> {
    let older = machine.status.as_ref().unwrap().deprecated.as_ref().unwrap().v1beta1.as_ref().unwrap();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    older
        .conditions
        .iter()
        .map(|condition| {
            let parts = [
                &condition.type_,
                &condition.status,
                &text(&condition.severity),
                &text(&condition.reason),
                &text(&condition.message),
            ];
            parts.map(String::as_str).join(" ").trim_end().to_owned()
        })
        .collect()
}

/// As recorded from Cluster API 1.14, but for `Ready` while the infrastructure is not.
#[test]
fn older_clients_see_their_conditions() {
    let condition = |type_: &str, status: &str| json!({"type": type_, "status": status});
    let with_conditions = |ready: &str| {
        json!({"metadata": {"name": "m"}, "spec": {"providerID": "id"},
            "status": {"conditions": [condition("Ready", ready), condition("DiskPressure", "False")]}})
    };
    let no_infrastructure =
        |observed: Observed| Observed { infrastructure: infrastructure(json!({})), ..observed };
    let mut starting = no_infrastructure(running(json!({}), json!({}), bare()));
    starting.node = NodeState::Absent;
    let machine = Arc::make_mut(&mut starting.machine);
    (machine.spec.provider_id, machine.status) = (None, None);
    let gone = Observed {
        infrastructure: Reference::NotFound,
        ..running(json!({"deletionTimestamp": "2026-11-20T23:59:59Z"}), json!({}), bare())
    };
    let hook = json!({"deletionTimestamp": "2026-11-20T23:59:59Z", "annotations": {"pre-drain.delete.hook.machine.cluster.x-k8s.io": ""}});
    let rows: [(&str, Observed, Vec<&str>); 5] = [
        (
            "starting",
            starting,
            vec![
                "Ready False Info WaitingForInfrastructure 1 of 2 completed",
                "BootstrapReady True",
                "InfrastructureReady False Info WaitingForInfrastructure",
                "NodeHealthy False Info WaitingForNodeRef",
            ],
        ),
        (
            "running",
            running(json!({}), json!({}), with_conditions("True")),
            vec!["Ready True", "BootstrapReady True", "InfrastructureReady True", "NodeHealthy True"],
        ),
        (
            "not ready",
            running(json!({}), json!({}), with_conditions("False")),
            vec![
                "Ready True",
                "BootstrapReady True",
                "InfrastructureReady True",
                "NodeHealthy False Warning NodeConditionsFailed Node condition Ready is False",
            ],
        ),
        (
            "waiting for a hook",
            running(hook, json!({}), with_conditions("True")),
            vec![
                "Ready True",
                "BootstrapReady True",
                "InfrastructureReady True",
                "NodeHealthy True",
                "PreDrainDeleteHookSucceeded False Info WaitingExternalHook",
            ],
        ),
        (
            "without infrastructure",
            gone,
            vec![
                "Ready False Info Deleted",
                "BootstrapReady True",
                "InfrastructureReady False Info Deleted",
                "NodeHealthy True",
                "PreDrainDeleteHookSucceeded True",
                "PreTerminateDeleteHookSucceeded True",
            ],
        ),
    ];
    for (what, observed, expected) in rows {
        assert_eq!(older(&machine::plan(&observed).machine), expected, "{what}");
    }
}

#[test]
fn older_clients_see_failures() {
    let status = json!({"nodeRef": {"name": "m"}, "initialization": {"infrastructureProvisioned": true}});
    let mut gone = running(json!({}), json!({}), bare());
    Arc::make_mut(&mut gone.machine).status = serde_json::from_value(status).unwrap();
    gone.infrastructure = Reference::NotFound;
    let mut broken = running(json!({}), json!({}), bare());
    broken.infrastructure =
        infrastructure(json!({"failureReason": "CreateError", "failureMessage": "no quota"}));
    let rows = [
        (
            gone,
            "InvalidConfiguration",
            "Machine infrastructure resource Infra with name \"m\" has been deleted after being ready",
        ),
        (broken, "CreateError", "Failure detected from referenced resource Infra with name \"m\": no quota"),
    ];
    for (observed, reason, message) in rows {
        let machine = machine::plan(&observed).machine;
        let older = machine.status.unwrap().deprecated.unwrap().v1beta1.unwrap();
        assert_eq!(
            (older.failure_reason.as_deref(), older.failure_message.as_deref()),
            (Some(reason), Some(message))
        );
    }
}
