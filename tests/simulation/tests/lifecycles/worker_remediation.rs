//! Workers turn sick, and a health check lets them be replaced.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use super::{CLUSTER_COMES, CLUSTER_GOES, Here, MACHINE_COMES, MACHINE_GOES, live};

const RECORDING: &str = include_str!("../../data/lifecycles/worker-remediation.txt");

/// A sick Machine is marked, then its MachineSet deletes it.
const REMEDIATION: &str = "
    Machine $old NodeHealthy=False NodeNotHealthy
    Machine $old HealthCheckSucceeded=False UnhealthyNode: Health check failed:\\n  * Condition Ready on Node is reporting status False with reason KubeletNotReady for more than 10s
    Machine $old OwnerRemediated=False WaitingForRemediation: Waiting for remediation
    Machine $old OwnerRemediated=False MachineDeleting: Machine is deleting";

#[test]
fn workers_are_replaced() {
    live(RECORDING, async |here| {
        here.apply_plain(1, 5).await?;
        here.story.step("apply a plain cluster", CLUSTER_COMES).await?;

        here.check_health("workers", "40%", json!({"pool": "plain-md"})).await?;
        here.story.settle().await?;
        here.story.step_without_rest(
            "create a MachineHealthCheck for the workers",
            "MachineHealthCheck workers created",
        )?;
        sick_nodes(here).await?;
        limits(here).await?;
        by_annotation(here).await?;

        here.story.leave_out("delete the Node object of worker")?;
        here.delete("MachineHealthCheck", "workers").await?;
        here.story.settle().await?;
        here.story.step_without_rest("delete the MachineHealthCheck", "MachineHealthCheck workers gone")?;
        here.delete("Cluster", "plain").await?;
        here.story.step("delete the cluster", CLUSTER_GOES).await?;
        here.story.end()
    });
}

/// A Node that is sick for a moment, one that stays sick, one whose kubelet is silent.
async fn sick_nodes(here: &mut Here<'_>) -> Result<()> {
    let before = here.story.machines("plain-md");
    here.set_node(&before[0], "False").await?;
    here.story.pass(Duration::from_secs(4)).await?;
    here.set_node(&before[0], "True").await?;
    let healed = "Machine $it NodeHealthy=False NodeNotHealthy\nMachine $it NodeHealthy=True NodeHealthy\nMachine $it Ready=True Ready";
    here.story.settle().await?;
    here.story
        .step_without_rest("Node of worker plain-md-469gt-292pf: Ready False, and True again", healed)?;

    here.set_node(&before[0], "False").await?;
    let order = [
        REMEDIATION,
        MACHINE_GOES,
        MACHINE_COMES,
        "Machine $new HealthCheckSucceeded=True HealthCheckSucceeded",
    ]
    .join("\n");
    here.story.step("Node of worker plain-md-469gt-292pf: Ready False, and it stays", &order).await?;

    let replacement = here.new_machine("plain-md", &before)?;
    here.set_node(&replacement, "Unknown").await?;
    let order = [
        "Machine $old NodeHealthy=Unknown NodeHealthyUnknown
        Machine $old HealthCheckSucceeded=False UnhealthyNode: Health check failed:\\n  * Condition Ready on Node is reporting status Unknown with reason NodeStatusUnknown for more than 10s
        Machine $old OwnerRemediated=False WaitingForRemediation: Waiting for remediation
        Machine $old OwnerRemediated=False MachineDeleting: Machine is deleting",
        MACHINE_GOES,
        MACHINE_COMES,
    ]
    .join("\n");
    here.story.settle().await?;
    here.story.step_without_rest("Node of worker plain-md-469gt-6w8kz: Ready Unknown", &order)
}

/// Too many sick at once, and one after the other.
async fn limits(here: &mut Here<'_>) -> Result<()> {
    let sick = here.story.machines("plain-md")[..3].to_vec();
    for name in &sick {
        here.set_node(name, "False").await?;
    }
    let order = "
        Machine $a HealthCheckSucceeded=False UnhealthyNode: ...
        Machine $b HealthCheckSucceeded=False UnhealthyNode: ...
        Machine $c HealthCheckSucceeded=False UnhealthyNode: ...
        MachineHealthCheck workers RemediationAllowed=False TooManyUnhealthy: Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy (total: 5, unhealthy: 3, maxUnhealthy: 40%)";
    here.story.step("3 of 5 worker Nodes (60 %): Ready False", order).await?;
    here.patch("MachineDeployment", "plain-md", json!({"spec": {"remediation": {"maxInFlight": 1}}})).await?;
    here.story.step("MachineDeployment remediation.maxInFlight 1", "").await?;

    here.set_node(&sick[0], "True").await?;
    let order = [
        "Machine $well NodeHealthy=True NodeHealthy
        Machine $old OwnerRemediated=False MachineDeleting: Machine is deleting",
        MACHINE_GOES,
        "Machine $next OwnerRemediated=False MachineDeleting: Machine is deleting
        Machine $next deletionTimestamp=set
        Machine $next gone
        Machine $new created
        Machine $new HealthCheckSucceeded=True HealthCheckSucceeded
        MachineHealthCheck workers currentHealthy=5",
    ]
    .join(
        "
",
    );
    here.story.step("Node of plain-md-469gt-8s85z: Ready True again", &order).await
}

/// Machines that are left alone, and one that is replaced although it is healthy.
async fn by_annotation(here: &mut Here<'_>) -> Result<()> {
    let machines = here.story.machines("plain-md");
    here.annotate("Machine", &machines[0], json!({"cluster.x-k8s.io/skip-remediation": ""})).await?;
    here.story.pass(Duration::from_secs(1)).await?;
    here.set_node(&machines[0], "False").await?;
    let order = "
        Machine $it annotation skip-remediation=\"\"
        Machine $it NodeHealthy=False NodeNotHealthy";
    here.story.settle().await?;
    here.story.step_without_rest(
        "annotate worker plain-md-469gt-6t8g2 with cluster.x-k8s.io/skip-remediation",
        order,
    )?;

    here.annotate("Machine", &machines[0], json!({"cluster.x-k8s.io/skip-remediation": null})).await?;
    let order = [
        "Machine $old annotation skip-remediation removed
        Machine $old HealthCheckSucceeded=False UnhealthyNode: ...
        Machine $old OwnerRemediated=False WaitingForRemediation: Waiting for remediation
        Machine $old OwnerRemediated=False MachineDeleting: Machine is deleting",
        MACHINE_GOES,
        MACHINE_COMES,
    ]
    .join(
        "
",
    );
    here.story.settle().await?;
    here.story.step_without_rest("annotation removed", &order)?;

    let machines = here.story.machines("plain-md");
    here.annotate("Machine", &machines[0], json!({"cluster.x-k8s.io/remediate-machine": ""})).await?;
    let order = [
        "Machine $old annotation remediate-machine=\"\"
        Machine $old HealthCheckSucceeded=False HasRemediateAnnotation: ...
        Machine $old OwnerRemediated=False WaitingForRemediation: ...
        Machine $old OwnerRemediated=False MachineDeleting: Machine is deleting",
        MACHINE_GOES,
        MACHINE_COMES,
    ]
    .join(
        "
",
    );
    here.story.settle().await?;
    here.story.step_without_rest(
        "annotate worker plain-md-469gt-8s85z with cluster.x-k8s.io/remediate-machine",
        &order,
    )
}
