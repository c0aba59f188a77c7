//! A cluster is scaled, upgraded, and loses a worker.

use anyhow::Result;
use serde_json::json;

use super::{CLUSTER_COMES, CLUSTER_GOES, Here, MACHINE_COMES, MACHINE_GOES, live};

const RECORDING: &str = include_str!("../../data/lifecycles/plain.txt");

#[test]
fn a_cluster_is_scaled_and_upgraded() {
    live(RECORDING, async |here| {
        here.apply_plain(1, 3).await?;
        here.story.step("apply a plain cluster", CLUSTER_COMES).await?;
        scaled_up(here).await?;
        upgraded(here).await?;
        scaled_down(here).await?;
        here.delete("Cluster", "plain").await?;
        here.story.step("delete the cluster", CLUSTER_GOES).await?;
        here.story.end()
    });
}

/// One control plane machine comes after the other, as etcd needs it; workers come at once.
async fn scaled_up(here: &mut Here<'_>) -> Result<()> {
    here.patch("KubeadmControlPlane", "plain-cp", json!({"spec": {"replicas": 3}})).await?;
    let order = "
        KubeadmControlPlane plain-cp spec.replicas=3
        Machine $a created
        Machine $a annotation kcp-cleanup=\"\"
        KubeadmControlPlane plain-cp ScalingUp=True ScalingUp
        Machine $a NodeHealthy=True NodeHealthy
        Machine $b created
        Machine $b NodeHealthy=True NodeHealthy
        Machine $b EtcdMemberHealthy=True Healthy
        KubeadmControlPlane plain-cp availableReplicas=3";
    here.story.step("scale KubeadmControlPlane 1 to 3", order).await?;
    here.patch("MachineDeployment", "plain-md", json!({"spec": {"replicas": 4}})).await?;
    here.story.step("scale MachineDeployment 3 to 4", MACHINE_COMES).await
}

/// A new machine is there and well before an old one goes.
async fn upgraded(here: &mut Here<'_>) -> Result<()> {
    let control_plane = |new: char, old: char| {
        format!(
            "Machine ${new} created
            Machine ${new} EtcdMemberHealthy=True Healthy
            Machine ${old} deletionTimestamp=set
            Machine ${old} annotation kcp-cleanup removed
            Machine ${old} gone\n"
        )
    };
    here.patch("KubeadmControlPlane", "plain-cp", json!({"spec": {"version": "v1.36.0"}})).await?;
    let machines = [control_plane('a', 'x'), control_plane('b', 'y'), control_plane('c', 'z')].concat();
    let order = format!("{machines}KubeadmControlPlane plain-cp RollingOut=False NotRollingOut");
    here.story.step("upgrade KubeadmControlPlane to v1.36.0", &order).await?;

    let worker = |new: char, old: char| {
        format!(
            "Machine ${new} created
            Machine ${new} NodeHealthy=True NodeHealthy
            Machine ${old} deletionTimestamp=set
            Machine ${old} gone\n"
        )
    };
    here.patch(
        "MachineDeployment",
        "plain-md",
        json!({"spec": {"template": {"spec": {"version": "v1.36.0"}}}}),
    )
    .await?;
    let machines = [worker('a', 'w'), worker('b', 'x'), worker('c', 'y'), worker('d', 'z')].concat();
    let order = format!(
        "MachineSet $set created
        MachineDeployment plain-md annotation revision=2
        {machines}MachineSet $old deletionTimestamp=set
        MachineSet $old gone"
    );
    here.story.step("upgrade MachineDeployment to v1.36.0", &order).await
}

/// Two control plane machines go, and a worker that somebody deletes comes back.
async fn scaled_down(here: &mut Here<'_>) -> Result<()> {
    here.patch("KubeadmControlPlane", "plain-cp", json!({"spec": {"replicas": 1}})).await?;
    let order = "
        KubeadmControlPlane plain-cp ScalingDown=True ScalingDown
        Machine $a annotation kcp-cleanup removed
        DevMachine $a deletionTimestamp=set
        Machine $a gone
        Machine $b deletionTimestamp=set
        Machine $b annotation kcp-cleanup removed
        Machine $b gone
        KubeadmControlPlane plain-cp ScalingDown=False NotScalingDown";
    here.story.step("scale KubeadmControlPlane 3 to 1", order).await?;
    let worker = here.story.machines("plain-md").remove(0);
    here.delete("Machine", &worker).await?;
    here.story.step("delete one worker Machine", &[MACHINE_GOES, MACHINE_COMES].join("\n")).await
}
