//! Control plane machines turn sick, and are replaced one after the other while etcd keeps its quorum.

use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::json;

use super::{CLUSTER_GOES, Here, live};

const RECORDING: &str = include_str!("../../data/lifecycles/control-plane-remediation.txt");

const SICK: &str = "
    Machine $old HealthCheckSucceeded=False UnhealthyNode: Health check failed:\\n  * Condition Ready on Node is reporting status False with reason KubeletNotReady for more than 10s
    Machine $old OwnerRemediated=False WaitingForRemediation: Waiting for remediation";
/// The control plane deletes the Machine, removes its etcd member, and lets it go.
const MEMBER_LEAVES: &str = "
    Machine $old deletionTimestamp=set
    Machine $old annotation kcp-cleanup removed
    Machine $old gone";

/// A replacement is made, which carries the record of the remediation.
fn replacement(machine: &str, retries: u32) -> String {
    format!(
        "
        Machine $new{machine} created
        Machine $new{machine} annotation kcp-cleanup=\"\"
        Machine $new{machine} annotation remediation-for={{\"machine\":\"${machine}\",\"timestamp\":\"<time>\",\"retryCount\":{retries}}}
        KubeadmControlPlane plain-cp annotation remediation-in-progress removed
        Machine $new{machine} NodeHealthy=True NodeHealthy
        Machine $new{machine} EtcdMemberHealthy=True Healthy"
    )
}

fn limit(limit: &str) -> serde_json::Value {
    json!({"spec": {"remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": limit}}}})
}

#[test]
fn control_plane_machines_are_replaced() {
    live(RECORDING, async |here| {
        here.apply_plain(3, 1).await?;
        let created = "
            Machine $first created
            Machine $second created
            Machine $third created
            KubeadmControlPlane plain-cp availableReplicas=3";
        here.story.step("apply a plain cluster", created).await?;
        here.check_health("control-plane", "40%", json!({"cluster.x-k8s.io/control-plane": ""})).await?;
        here.story.settle().await?;
        here.story.step_without_rest(
            "create a MachineHealthCheck for the control plane",
            "MachineHealthCheck control-plane created",
        )?;

        let machines = here.story.machines("plain-cp");
        here.set_node(&machines[0], "False").await?;
        let order = [
            SICK,
            "Machine $old OwnerRemediated=False MachineDeleting: Machine is deleting",
            "Machine $old gone",
            &replacement("old", 0),
        ];
        here.story
            .step("Node of control plane machine plain-cp-79x7g: Ready False", &order.join("\n"))
            .await?;
        two_at_once(here).await?;
        too_often(here).await?;
        only_one(here).await?;
        here.delete("Cluster", "plain").await?;
        here.story.step("delete the cluster", CLUSTER_GOES).await?;
        here.story.end()
    });
}

/// Two of three are sick: too many for the health check, then one after the other.
async fn two_at_once(here: &mut Here<'_>) -> Result<()> {
    let replacement = here.story.machine_with("annotation remediation-for", "").context("no replacement")?;
    let machines = here.story.machines("plain-cp");
    let original = machines.iter().find(|name| **name != replacement).context("no other Machine")?;
    here.set_node(original, "False").await?;
    here.set_node(&replacement, "False").await?;
    here.story.pass(Duration::from_secs(1)).await?;
    let order = "KubeadmControlPlane plain-cp availableReplicas=1";
    here.story.step_without_rest("Nodes of 2 of 3 control plane machines: Ready False (67 %)", order)?;
    here.story.settle().await?;
    here.patch("MachineHealthCheck", "control-plane", limit("70%")).await?;
    let order = [
        "MachineHealthCheck control-plane RemediationAllowed=False TooManyUnhealthy: Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy (total: 3, unhealthy: 2, maxUnhealthy: 40%)
        MachineHealthCheck control-plane RemediationAllowed=True RemediationAllowed",
        "Machine $old gone",
        "Machine $newold created
        Machine $newold annotation remediation-for={\"machine\":\"$old\"...
        Machine $newold NodeHealthy=True NodeHealthy",
        "Machine $next gone",
        "Machine $newnext created
        Machine $newnext annotation remediation-for={\"machine\":\"$next\"...
        Machine $newnext HealthCheckSucceeded=True HealthCheckSucceeded
        MachineHealthCheck control-plane currentHealthy=3",
    ];
    here.story.settle().await?;
    here.story.step_without_rest("MachineHealthCheck: at most 70 %", &order.join("\n"))
}

/// A replacement fails, and so does its replacement, which is one failure more than is allowed.
async fn too_often(here: &mut Here<'_>) -> Result<()> {
    let remediation = json!({"spec": {"remediation": {"maxRetry": 1, "minHealthyPeriodSeconds": 3600, "retryPeriodSeconds": 20}}});
    here.patch("KubeadmControlPlane", "plain-cp", remediation).await?;
    here.story.settle().await?;
    here.story.step_without_rest("KubeadmControlPlane remediation: maxRetry 1", "")?;
    let before = here.story.machines("plain-cp");
    let first = here
        .story
        .machine_with("annotation remediation-for", "\"retryCount\":0")
        .context("no replacement")?;
    here.set_node(&first, "False").await?;
    let order = [SICK, MEMBER_LEAVES, &replacement("old", 1)];
    here.story.settle().await?;
    here.story.step_without_rest(
        "Node of control plane machine plain-cp-wn2fd: Ready False (first try)",
        &order.join("\n"),
    )?;

    let second = here.new_machine("plain-cp", &before)?;
    here.set_node(&second, "False").await?;
    let order = [
        SICK,
        "Machine $old OwnerRemediated=False CannotBeRemediated: KubeadmControlPlane can't remediate this machine because the operation already failed 1 times (MaxRetry)
        KubeadmControlPlane plain-cp Remediating=True Remediating",
    ];
    here.story
        .step("Node of its replacement plain-cp-xjbkm: Ready False (refused", &order.join("\n"))
        .await?;
    here.set_node(&second, "False").await?;
    here.story.step("Node of the replacement of that, plain-cp-xjbkm: Ready False once more", "").await?;
    here.set_node(&second, "True").await?;
    here.story.settle().await?;
    here.story.step_without_rest("that Node Ready True again", "")
}

/// The control plane is scaled to one machine, which is sick for a moment.
async fn only_one(here: &mut Here<'_>) -> Result<()> {
    here.patch("MachineHealthCheck", "control-plane", limit("100%")).await?;
    here.patch("KubeadmControlPlane", "plain-cp", json!({"spec": {"replicas": 1}})).await?;
    here.story.settle().await?;
    let order = "
        KubeadmControlPlane plain-cp spec.replicas=1
        Machine $a deletionTimestamp=set
        Machine $a annotation kcp-cleanup removed
        Machine $a gone
        Machine $b deletionTimestamp=set
        Machine $b annotation kcp-cleanup removed";
    here.story
        .step_without_rest("MachineHealthCheck: at most 100 %; scale KubeadmControlPlane 3 to 1", order)?;
    let last = here.story.machines("plain-cp");
    here.set_node(&last[0], "False").await?;
    here.story.pass(Duration::from_secs(8)).await?;
    here.story.step_without_rest(
        "Node of the only control plane machine: Ready False",
        "Machine $it Ready=False NotReady",
    )?;
    here.set_node(&last[0], "True").await?;
    here.story.step("that Node Ready True again", "Machine $it Ready=True Ready").await
}
