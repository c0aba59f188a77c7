//! Rollouts that a time triggers, and changes that replace no Machine.

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use super::{CLUSTER_COMES, CLUSTER_GOES, Here, live};

const RECORDING: &str = include_str!("../../data/lifecycles/rollout-after.txt");

/// One control plane machine is replaced.
const CONTROL_PLANE: &str = "
    Machine $old UpToDate=False NotUpToDate
    Machine $new created
    KubeadmControlPlane plain-cp RollingOut=True RollingOut
    Machine $new UpToDate=True UpToDate
    Machine $new NodeHealthy=True NodeHealthy
    Machine $old deletionTimestamp=set
    Machine $old annotation kcp-cleanup removed
    Machine $old gone";
/// The Machines of the workers are replaced one after the other.
const WORKERS: &str = "
    MachineSet $set created
    Machine $a created
    Machine $a NodeHealthy=True NodeHealthy
    Machine $x deletionTimestamp=set
    Machine $x gone
    Machine $b created
    Machine $b NodeHealthy=True NodeHealthy
    Machine $y deletionTimestamp=set
    Machine $y gone
    MachineSet $old deletionTimestamp=set
    MachineSet $old gone";

#[test]
fn machines_are_replaced_at_their_time() {
    live(RECORDING, async |here| {
        here.apply_plain(1, 2).await?;
        here.story.step("apply a plain cluster", CLUSTER_COMES).await?;
        times(here).await?;
        in_place(here).await?;
        restarts(here).await?;
        here.delete("Cluster", "plain").await?;
        here.story.step("delete the cluster", CLUSTER_GOES).await?;
        here.story.end()
    });
}

impl Here<'_> {
    /// Lets the owner of Machines begin a rollout after some seconds.
    async fn roll_out_after(&self, kind: &str, name: &str, seconds: u64) -> Result<()> {
        let time = machinery::clock::rfc3339(self.life.clock.now() + Duration::from_secs(seconds));
        self.patch(kind, name, json!({"spec": {"rollout": {"after": time}}})).await
    }

    /// Changes the template of the workers' Machines.
    async fn change_workers(&self, template: Value) -> Result<()> {
        self.patch("MachineDeployment", "plain-md", json!({"spec": {"template": template}})).await
    }
}

/// `rollout.after`, now and later. Ours needs no other event at that time.
async fn times(here: &mut Here<'_>) -> Result<()> {
    here.roll_out_after("KubeadmControlPlane", "plain-cp", 25).await?;
    here.story.pass(Duration::from_secs(20)).await?;
    here.story.step_without_rest("KubeadmControlPlane spec.rollout.after 2026-11-22T22:34:46Z", "")?;
    here.story.step("KubeadmControlPlane annotated", CONTROL_PLANE).await?;
    here.roll_out_after("MachineDeployment", "plain-md", 0).await?;
    here.story.step("MachineDeployment spec.rollout.after 2026-11-22T22:35:32Z (now)", WORKERS).await?;
    here.roll_out_after("MachineDeployment", "plain-md", 25).await?;
    here.story.pass(Duration::from_secs(20)).await?;
    here.story.step_without_rest("MachineDeployment spec.rollout.after 2026-11-22T22:36:54Z", "")
}

/// What changes in place: the Machines stay.
async fn in_place(here: &mut Here<'_>) -> Result<()> {
    // There, it begins when the time has come and something else changes.
    here.story.settle().await?;
    here.change_workers(json!({"metadata": {"labels": {"colour": "blue", "node.cluster.x-k8s.io/tier": "a"},
        "annotations": {"note.example.org/a": "b"}}}))
        .await?;
    here.story.settle().await?;
    let order = WORKERS.split("Machine $b NodeHealthy").next().unwrap_or_default();
    here.story.step_without_rest("MachineDeployment in place: template label and annotation", order)?;

    let machines = here.story.machines("plain");
    let timeouts = json!({"nodeDeletionTimeoutSeconds": 13, "nodeDrainTimeoutSeconds": 11, "nodeVolumeDetachTimeoutSeconds": 12});
    here.change_workers(json!({"spec": {"deletion": timeouts, "minReadySeconds": 3, "readinessGates": [{"conditionType": "Special"}]}}))
        .await?;
    here.story.settle().await?;
    here.story.step_without_rest("MachineDeployment in place: deletion timeouts, minReadySeconds", "")?;
    let strategy = json!({"deletion": {"order": "Oldest"}, "template": {"spec": {"readinessGates": null}},
        "rollout": {"strategy": {"rollingUpdate": {"maxSurge": 2, "maxUnavailable": 1}}}});
    here.patch("MachineDeployment", "plain-md", json!({"spec": strategy})).await?;
    here.story.step("MachineDeployment in place: readinessGates removed", "").await?;
    here.change_workers(json!({"metadata": {"labels": {"colour": null, "node.cluster.x-k8s.io/tier": null}, "annotations": null}})).await?;
    here.story.step("MachineDeployment in place: label and annotation removed", "").await?;

    let metadata = json!({"labels": {"colour": "blue", "node.cluster.x-k8s.io/tier": "a"}, "annotations": {"note.example.org/a": "b"}});
    let template = |template: Value| json!({"spec": {"machineTemplate": template}});
    here.patch("KubeadmControlPlane", "plain-cp", template(json!({"metadata": metadata}))).await?;
    here.story.step("KubeadmControlPlane in place: machineTemplate label", "").await?;
    here.patch("KubeadmControlPlane", "plain-cp", template(json!({"spec": {"deletion": timeouts}}))).await?;
    here.story.step("KubeadmControlPlane in place: deletion timeouts", "").await?;
    here.patch("KubeadmControlPlane", "plain-cp", template(json!({"metadata": null}))).await?;
    here.story.step("KubeadmControlPlane in place: label and annotation removed", "").await?;
    anyhow::ensure!(here.story.machines("plain") == machines, "no Machine was replaced");
    Ok(())
}

/// What `clusterctl alpha rollout` does. Now two Machines may be added, and one may be missing.
async fn restarts(here: &mut Here<'_>) -> Result<()> {
    let workers = "
        MachineSet $set created
        Machine $a created
        Machine $y gone
        MachineSet $old deletionTimestamp=set
        MachineSet $old gone";
    here.roll_out_after("MachineDeployment", "plain-md", 0).await?;
    here.story.step("clusterctl alpha rollout restart machinedeployment/plain-md", workers).await?;
    here.roll_out_after("KubeadmControlPlane", "plain-cp", 0).await?;
    here.story.step("clusterctl alpha rollout restart kubeadmcontrolplane/plain-cp", CONTROL_PLANE).await?;
    here.patch("MachineDeployment", "plain-md", json!({"spec": {"paused": true}})).await?;
    here.change_workers(json!({"spec": {"version": "v1.35.1"}})).await?;
    let order = "MachineDeployment plain-md RollingOut=True RollingOut";
    // There, the MachineDeployment has no revision as long as no MachineSet has its template.
    here.story.settle().await?;
    here.story.step_without_rest("clusterctl alpha rollout pause, a new version", order)?;
    here.patch("MachineDeployment", "plain-md", json!({"spec": {"paused": false}})).await?;
    here.story.step("resume", workers).await
}
