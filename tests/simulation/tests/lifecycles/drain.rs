//! Machines are deleted while Pods, budgets, rules and hooks hold them.

use std::time::Duration;

use anyhow::Result;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::{CLUSTER_COMES, CLUSTER_GOES, Here, MACHINE_COMES, MACHINE_GOES, live};

const RECORDING: &str = include_str!("../../data/lifecycles/drain.txt");

/// The changes after the drain.
const LEAVES: &str = "
    DevMachine $old deletionTimestamp=set
    DevMachine $old gone
    Machine $old gone";

#[test]
fn machines_are_drained() {
    live(RECORDING, async |here| {
        here.apply_plain(1, 3).await?;
        here.story.step("apply a plain cluster", CLUSTER_COMES).await?;
        a_budget(here).await?;
        a_rule_to_skip(here).await?;
        a_timeout(here).await?;
        hooks(here).await?;
        orders(here).await?;
        here.delete("Cluster", "plain").await?;
        // The recording was cut off.
        here.story.settle().await?;
        here.story.step_without_rest(
            "delete the cluster",
            CLUSTER_GOES.split("MachineDeployment plain-md gone").next().unwrap_or_default(),
        )?;
        here.story.end()
    });
}

/// A budget that spares no Pod, then none, then the Pod goes.
async fn a_budget(here: &mut Here<'_>) -> Result<()> {
    let machine = here.story.machines("plain-md").remove(0);
    let workload = Workload::of(here)?;
    workload.pod("app1", &machine).await?;
    workload.guard("app1").await?;
    here.story.step("workload cluster: Pod app1 bound to the Node", "").await?;
    here.delete("Machine", &machine).await?;
    let order = "
        Machine $old deletionTimestamp=set
        Machine $old Deleting=True DrainingNode: Drain not completed yet (started at <time>):\\n* Pod ...: cannot evict pod as it would violate the pod's disruption budget. The disruption budget app1 needs 1 healthy pods and has 1 currently";
    here.story.settle().await?;
    here.story.step_without_rest("delete Machine plain-md-v4lln-975k6: the drain is blocked", order)?;
    workload.budgets.delete("app1", &DeleteParams::default()).await?;
    let order = "Machine $old Deleting=True DrainingNode: Drain not completed yet (started at <time>):\\n* Pod ...: deletionTimestamp set, but still not removed from the Node";
    here.story.settle().await?;
    here.story.step_without_rest("workload cluster: PodDisruptionBudget app1 deleted", order)?;
    workload.end("app1").await?;
    here.story.step("workload cluster: Pod app1 gone", &[LEAVES, MACHINE_COMES].join("\n")).await
}

/// A rule leaves the Pod alone.
async fn a_rule_to_skip(here: &mut Here<'_>) -> Result<()> {
    let machine = here.story.machines("plain-md").remove(0);
    let workload = Workload::of(here)?;
    workload.pod("app2", &machine).await?;
    workload.guard("app2").await?;
    here.create("MachineDrainRule", "skip", json!({}), rule(json!({"behavior": "Skip"}), "app2")).await?;
    here.story.step("workload cluster: Pod app2", "").await?;
    here.delete("Machine", &machine).await?;
    here.story.step("delete Machine plain-md-v4lln-mzgpt", &[MACHINE_GOES, MACHINE_COMES].join("\n")).await
}

/// The MachineSet decides on the time-out of its Machines, also while they are deleted.
async fn a_timeout(here: &mut Here<'_>) -> Result<()> {
    let machine = here.story.machines("plain-md").remove(0);
    let workload = Workload::of(here)?;
    workload.pod("app3", &machine).await?;
    workload.guard("app3").await?;
    let timeout = json!({"spec": {"deletion": {"nodeDrainTimeoutSeconds": 20}}});
    here.patch("Machine", &machine, timeout.clone()).await?;
    here.story.step("workload cluster: Pod app3", "").await?;
    here.delete("Machine", &machine).await?;
    let order = "Machine $old Deleting=True DrainingNode: Drain not completed yet (started at <time>):\\n* Pod ...: cannot evict pod as it would violate the pod's disruption budget. The disruption budget app3 needs 1 healthy pods and has 1 currently";
    here.story.settle().await?;
    here.story.step_without_rest("delete Machine plain-md-v4lln-t2gft", order)?;
    // There, the MachineSet takes it away before the Machine is looked at again; here, both happen at once.
    here.story.leave_out("nodeDrainTimeoutSeconds 20 set on that Machine again")?;
    here.patch("MachineDeployment", "plain-md", json!({"spec": {"template": timeout}})).await?;
    here.story.settle().await?;
    here.story.step_without_rest("MachineDeployment template nodeDrainTimeoutSeconds 20", LEAVES)?;
    let none = json!({"spec": {"template": {"spec": {"deletion": null}}}});
    here.patch("MachineDeployment", "plain-md", none).await?;
    here.story.step("MachineDeployment template nodeDrainTimeoutSeconds removed", "").await
}

/// Hooks before the drain and before the end.
async fn hooks(here: &mut Here<'_>) -> Result<()> {
    let machine = here.story.machines("plain-md").remove(0);
    let (drain, terminate) = (
        "pre-drain.delete.hook.machine.cluster.x-k8s.io/migrate",
        "pre-terminate.delete.hook.machine.cluster.x-k8s.io/backup",
    );
    here.annotate("Machine", &machine, json!({drain: "", terminate: ""})).await?;
    here.story.step("pre-drain and pre-terminate hook annotations", "").await?;
    here.delete("Machine", &machine).await?;
    let order = format!(
        "Machine $old Deleting=True WaitingForPreDrainHook: Waiting for pre-drain hooks to succeed (hooks: {drain})"
    );
    here.story.step("delete Machine plain-md-v4lln-2lj8c: waits", &order).await?;
    here.annotate("Machine", &machine, json!({drain: null})).await?;
    let order = format!(
        "Machine $old Deleting=True WaitingForPreTerminateHook: Waiting for pre-terminate hooks to succeed (hooks: {terminate})"
    );
    here.story.step("pre-drain annotation removed", &order).await?;
    here.annotate("Machine", &machine, json!({terminate: null})).await?;
    here.story.step("pre-terminate annotation removed", &[LEAVES, MACHINE_COMES].join("\n")).await
}

/// Pods go in the order of the rules, and one is waited for.
async fn orders(here: &mut Here<'_>) -> Result<()> {
    let machine = here.story.machines("plain-md").remove(0);
    let workload = Workload::of(here)?;
    for name in ["early", "late", "wait"] {
        workload.pod(name, &machine).await?;
    }
    here.create(
        "MachineDrainRule",
        "late",
        json!({}),
        rule(json!({"behavior": "Drain", "order": 5}), "late"),
    )
    .await?;
    here.create("MachineDrainRule", "wait", json!({}), rule(json!({"behavior": "WaitCompleted"}), "wait"))
        .await?;
    here.story.step("workload cluster: Pods early", "").await?;
    here.delete("Machine", &machine).await?;
    let waits = "\\n* Pod .../wait: waiting for completion";
    let draining = "Machine $old Deleting=True DrainingNode: Drain not completed yet (started at <time>):";
    let terminating = "deletionTimestamp set, but still not removed from the Node";
    let later =
        "\\nAfter above Pods have been removed from the Node, the following Pods will be evicted: .../late";
    here.story.pass(Duration::from_secs(30)).await?;
    let order = format!("{draining}\\n* Pod .../early: {terminating}{waits}{later}");
    here.story.step_without_rest("delete Machine plain-md-v4lln-g9q94", &order)?;
    workload.end("early").await?;
    here.story.settle().await?;
    here.story.step_without_rest("workload cluster: Pod early gone", &format!("{draining}{waits}{later}"))?;
    let done = Patch::Merge(json!({"status": {"phase": "Succeeded"}}));
    workload.pods.patch_status("wait", &PatchParams::default(), &done).await?;
    here.story.settle().await?;
    here.story.step_without_rest("workload cluster: Pod wait has phase Succeeded", "")?;
    // Here, a Pod that has ended is complete. The Machine leaves with the last other Pod.
    here.story.step_without_rest("workload cluster: Pod late gone", "")?;
    workload.end("late").await?;
    here.story.settle().await?;
    here.story.step_without_rest("workload cluster: Pod wait gone", LEAVES)
}

fn rule(drain: Value, app: &str) -> Value {
    json!({"drain": drain, "pods": [{"selector": {"matchLabels": {"app": app}}}]})
}

/// Pods and budgets of the workload cluster.
struct Workload {
    pods: Api<Pod>,
    budgets: Api<PodDisruptionBudget>,
}

impl Workload {
    fn of(here: &Here<'_>) -> Result<Self> {
        let client = here.workload()?;
        Ok(Self {
            pods: Api::namespaced(client.clone(), "default"),
            budgets: Api::namespaced(client, "default"),
        })
    }

    /// Creates a Pod that runs on the Node, and that a finalizer holds as long as a kubelet would.
    async fn pod(&self, name: &str, node: &str) -> Result<()> {
        let pod = json!({"metadata": {"name": name, "labels": {"app": name}, "finalizers": ["example.com/kubelet"]},
            "spec": {"nodeName": node, "containers": [{"name": "app", "image": "app"}]}});
        self.pods.create(&PostParams::default(), &serde_json::from_value(pod)?).await?;
        let status =
            json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
        self.pods.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await?;
        Ok(())
    }

    /// Creates a budget that spares no Pod.
    async fn guard(&self, name: &str) -> Result<()> {
        let budget = json!({"metadata": {"name": name}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": name}}}});
        self.budgets.create(&PostParams::default(), &serde_json::from_value(budget)?).await?;
        Ok(())
    }

    /// Ends a Pod, which is deleted if it was not before.
    async fn end(&self, name: &str) -> Result<()> {
        self.pods.delete(name, &DeleteParams::default()).await?;
        let released = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        self.pods.patch(name, &PatchParams::default(), &released).await?;
        Ok(())
    }
}
