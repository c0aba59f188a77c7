//! Objects lose their owners, and are adopted again.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::{CLUSTER_COMES, CLUSTER_GOES, Here, MACHINE_COMES, MACHINE_GOES, live};

const RECORDING: &str = include_str!("../../data/lifecycles/adoption.txt");

#[test]
fn objects_are_adopted_again() {
    live(RECORDING, async |here| {
        here.apply_plain(1, 2).await?;
        here.story.step("apply a plain cluster", CLUSTER_COMES).await?;
        lost_owners(here).await?;
        another_label(here).await?;
        // There it was to be orphaned, and its controller deleted all the same.
        here.delete("MachineDeployment", "plain-md").await?;
        let order = "
            MachineDeployment plain-md deletionTimestamp=set
            MachineSet $set deletionTimestamp=set
            Machine $a deletionTimestamp=set
            Machine $a gone
            MachineSet $set gone
            MachineDeployment plain-md gone";
        here.story.step("MachineDeployment deleted with --cascade=orphan", order).await?;
        here.apply_plain(1, 2).await?;
        let order = [
            "MachineDeployment plain-md created
            MachineSet $set created
            MachineSet $set owner MachineDeployment plain-md=controller",
            MACHINE_COMES,
        ];
        here.story.step("the same MachineDeployment created again", &order.join("\n")).await?;
        a_set_alone(here).await?;
        here.delete("Cluster", "plain").await?;
        here.story.step("delete the cluster", CLUSTER_GOES).await?;
        here.story.end()
    });
}

/// Each object gets the owner back that somebody took away.
async fn lost_owners(here: &mut Here<'_>) -> Result<()> {
    let none = json!({"metadata": {"ownerReferences": null}});
    let worker = here.story.machines("plain-md").remove(0);
    here.patch("Machine", &worker, none.clone()).await?;
    let order = "Machine $m owner MachineSet $s removed\nMachine $m owner MachineSet $s=controller";
    here.story.step("worker Machine plain-md-pjhkv-jrb44: ownerReferences removed", order).await?;
    let set = here.story.names("MachineSet", "plain-md").remove(0);
    here.patch("MachineSet", &set, none.clone()).await?;
    let order = "MachineSet $s owner MachineDeployment plain-md removed\nMachineSet $s owner MachineDeployment plain-md=controller";
    here.story.step("MachineSet: ownerReferences removed", order).await?;
    let machine = here.story.machines("plain-cp").remove(0);
    here.patch("Machine", &machine, none.clone()).await?;
    let order = "Machine $m owner KubeadmControlPlane plain-cp removed\nMachine $m owner KubeadmControlPlane plain-cp=controller";
    here.story.step("control plane Machine plain-cp-x9bj5 : ownerReferences removed", order).await?;
    here.patch("KubeadmConfig", &worker, none.clone()).await?;
    here.story.settle().await?;
    here.patch("DevMachine", &worker, none).await?;
    let order = "
        KubeadmConfig $m owner Machine $m removed
        KubeadmConfig $m owner Machine $m=controller
        DevMachine $m owner Machine $m removed
        DevMachine $m owner Machine $m=controller";
    here.story.step("KubeadmConfig and DevMachine of worker", order).await
}

/// A Machine that the selector does not match any more is replaced, and one is too many when it is back.
async fn another_label(here: &mut Here<'_>) -> Result<()> {
    let worker = here.story.machines("plain-md").remove(0);
    let label = |value: Value| json!({"metadata": {"labels": {"pool": value}}});
    here.patch("Machine", &worker, label(Value::Null)).await?;
    here.story.step("worker Machine plain-md-pjhkv-jrb44: label pool removed", MACHINE_COMES).await?;
    here.patch("Machine", &worker, label("plain-md".into())).await?;
    here.story.step("worker Machine plain-md-pjhkv-jrb44: label pool=plain-md again", MACHINE_GOES).await
}

/// A MachineSet that stands alone, and then a MachineDeployment with its template.
async fn a_set_alone(here: &mut Here<'_>) -> Result<()> {
    let set = here.story.names("MachineSet", "plain-md").remove(0);
    let mut spec = here.get("MachineSet", &set).await?["spec"].clone();
    let labels = json!({"pool": "two"});
    spec["replicas"] = 1.into();
    spec["selector"] = json!({"matchLabels": labels});
    spec["template"]["metadata"] = json!({"labels": labels});
    let keep = ["clusterName", "replicas", "selector", "template"];
    spec.as_object_mut().context("no spec")?.retain(|key, _| keep.contains(&key.as_str()));
    here.create("MachineSet", "alone", labels, spec.clone()).await?;
    let order = "
        MachineSet alone created
        KubeadmConfig $m created
        DevMachine $m created
        Machine $m created
        Machine $m nodeRef=$m
        MachineSet alone availableReplicas=1";
    // There, `MachinesUpToDate` is that of the time before the first Machine.
    here.story.settle().await?;
    here.story.step_without_rest("a stand-alone MachineSet alone", order)?;
    here.create("MachineDeployment", "two", json!({}), spec).await?;
    let order = "
        MachineDeployment two created
        MachineSet alone owner MachineDeployment two=controller
        Machine $m UpToDate=True UpToDate
        MachineDeployment two MachinesUpToDate=True UpToDate";
    // There, an adopted MachineSet has no revision until something changes its replicas.
    here.story.settle().await?;
    here.story.step_without_rest("the MachineDeployment two, same template", order)
}
