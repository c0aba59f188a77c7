//! Tests of `engine::v1beta1::machines`.

use engine::v1beta1::machines::{ETCD_MEMBER, HEALTH_CHECK_SUCCEEDED, OWNER_REMEDIATED, PODS, repeated};
use schemas::cluster::Machine;
use serde_json::json;

fn machine(type_: &str, status: &str, reason: &str, message: &str, node: Option<&str>) -> Machine {
    serde_json::from_value(json!({"metadata": {"name": "m"}, "status": {
        "nodeRef": node.map(|name| json!({"name": name})),
        "conditions": [{"type": type_, "status": status, "reason": reason, "message": message}]}}))
    .unwrap()
}

/// Each row was recorded from Cluster API 1.14, but for messages, which are those of the newer conditions.
#[test]
fn what_others_report_is_repeated() {
    let sick = "Health check failed:\n  * Condition Ready on Node is reporting status False";
    let deferred = "waiting for control plane Machine provisioning";
    // Columns: type, status, reason and message of the condition; status, severity, reason and message of its v1beta1 form.
    let rows = [
        (HEALTH_CHECK_SUCCEEDED, "True", "HealthCheckSucceeded", "", "True    "),
        (
            HEALTH_CHECK_SUCCEEDED,
            "False",
            "UnhealthyNode",
            sick,
            "False Warning UnhealthyNode Condition Ready on Node is reporting status False",
        ),
        (
            HEALTH_CHECK_SUCCEEDED,
            "False",
            "HasRemediateAnnotation",
            "Health check failed: marked",
            "False Warning HasRemediateMachineAnnotation marked",
        ),
        (
            OWNER_REMEDIATED,
            "False",
            "WaitingForRemediation",
            "Waiting for remediation",
            "False Warning WaitingForRemediation ",
        ),
        (
            OWNER_REMEDIATED,
            "False",
            "MachineDeleting",
            "Machine is deleting",
            "False Warning RemediationInProgress ",
        ),
        (
            OWNER_REMEDIATED,
            "False",
            "RemediationDeferred",
            deferred,
            "False Warning WaitingForRemediation waiting for control plane Machine provisioning",
        ),
        (OWNER_REMEDIATED, "False", "InternalError", "no", "False Error RemediationFailed no"),
        (PODS[0], "True", "Running", "", "True    "),
        (PODS[0], "False", "Deleting", "Machine is deleting", "False Info Deleting "),
        (PODS[3], "False", "DoesNotExist", "Pod does not exist", "False Error PodMissing Pod does not exist"),
        (PODS[3], "False", "Failed", "exit 1", "False Error PodFailed exit 1"),
        (PODS[3], "False", "Provisioning", "pulls", "False Info PodProvisioning pulls"),
        (PODS[3], "Unknown", "InspectionFailed", "no answer", "Unknown  PodInspectionFailed no answer"),
        (ETCD_MEMBER, "False", "NotHealthy", "alarm", "False Error EtcdMemberUnhealthy alarm"),
        (
            ETCD_MEMBER,
            "Unknown",
            "InspectionFailed",
            "no answer",
            "Unknown  MemberInspectionFailed no answer",
        ),
    ];
    for (type_, status, reason, message, expected) in rows {
        let found = repeated(&machine(type_, status, reason, message, Some("n")), type_).unwrap();
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let parts = [text(&found.severity), text(&found.reason), text(&found.message)];
        assert_eq!(
            format!("{} {}", found.status, parts.join(" ")).trim_end(),
            expected.trim_end(),
            "{type_} {reason}"
        );
    }
    let starting = machine(PODS[0], "Unknown", "InspectionFailed", "Waiting", None);
    assert_eq!(repeated(&starting, PODS[0]), None, "without a Node");
    assert_eq!(repeated(&starting, PODS[1]), None, "without the condition");
}
