//! Recorded lives of clusters under Cluster API's own controllers, lived again under ours. The names of steps are those of the recordings.

mod adoption;
mod classes;
mod compare;
mod control_plane_remediation;
mod drain;
mod facts;
mod order;
mod plain;
mod recording;
mod rollout_after;
mod topology;
mod worker_remediation;

use anyhow::{Context as _, Result};
use engine::NamespacedName;
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::{Document, parse};
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use serde_json::{Value, json};
use simulation::lifecycles::story::Story;
use simulation::simulation::{Life, Simulation};

const EXAMPLE: &str = include_str!("../../../../examples/first-cluster.yaml");
/// The changes from a Machine that is deleted to its end. There, the condition also says that the deletion is completed; here, the object
/// is gone at that moment.
const MACHINE_GOES: &str = "
    Machine $old deletionTimestamp=set
    DevMachine $old deletionTimestamp=set
    Machine $old Deleting=True WaitingForInfrastructureDeletion: Waiting for DevMachine to be deleted
    DevMachine $old gone
    KubeadmConfig $old gone
    Machine $old gone";
/// The creation of the cluster.
const CLUSTER_COMES: &str = "
    Cluster plain created
    Cluster plain InfrastructureReady=True Ready
    Machine plain-cp-$a created
    Machine plain-md-$b created
    MachineDeployment plain-md Available=True Available";
/// The changes from a Machine of a MachineSet that is created until it runs.
const MACHINE_COMES: &str = "
    KubeadmConfig $new created
    DevMachine $new created
    Machine $new created
    Machine $new BootstrapConfigReady=True Ready
    Machine $new phase=Provisioning
    Machine $new NodeHealthy=True NodeHealthy";
/// The end of each recording.
const CLUSTER_GOES: &str = "
    Cluster plain deletionTimestamp=set
    MachineDeployment plain-md deletionTimestamp=set
    Cluster plain Deleting=True WaitingForWorkersDeletion: ...
    MachineDeployment plain-md gone
    KubeadmControlPlane plain-cp deletionTimestamp=set
    Cluster plain Deleting=True WaitingForControlPlaneDeletion: Waiting for KubeadmControlPlane to be deleted
    Machine $last gone
    KubeadmControlPlane plain-cp gone
    DevCluster plain deletionTimestamp=set
    Cluster plain Deleting=True WaitingForInfrastructureDeletion: Waiting for DevCluster to be deleted
    DevCluster plain gone
    Cluster plain gone";

/// Lives a recording in a fresh simulation.
fn live(recording: &str, tell: impl AsyncFnOnce(&mut Here<'_>) -> Result<()>) {
    let lived = Simulation::new(1).live(async |life, _| {
        let story = Story::begin(life, recording)?;
        let mut here = Here { life, client: life.plane.client("user"), story };
        let told = tell(&mut here).await;
        told.with_context(|| here.story.differences().join("\n\n"))
    });
    if let Err(error) = lived {
        panic!("{error:?}");
    }
}

/// The user's view of the cluster `plain`, and the story so far.
struct Here<'a> {
    life: &'a Life,
    client: Client,
    story: Story,
}

impl Here<'_> {
    /// Creates the cluster.
    async fn apply_plain(&self, control_planes: i64, workers: i64) -> Result<()> {
        let text = EXAMPLE
            .replace("first-control-plane", "plain-cp")
            .replace("first-workers", "plain-md")
            .replace("first", "plain");
        let text = text.replace("startupDuration: 2s", "startupDuration: 1s");
        let mut documents = parse("plain.yaml", &text)?;
        for document in &mut documents {
            match document.object["kind"].as_str() {
                Some("KubeadmControlPlane") => document.object["spec"]["replicas"] = control_planes.into(),
                Some("MachineDeployment") => document.object["spec"]["replicas"] = workers.into(),
                _ => {}
            }
        }
        self.apply(&documents).await
    }

    async fn apply(&self, documents: &[Document]) -> Result<()> {
        apply_all(&self.life.plane.registry, &self.client, documents).await?;
        Ok(())
    }

    /// Creates an object of Cluster API's core group.
    async fn create(&self, kind: &str, name: &str, labels: Value, spec: Value) -> Result<()> {
        let object = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind,
            "metadata": {"name": name, "namespace": "default", "labels": labels}, "spec": spec});
        self.kind(kind).create(&PostParams::default(), &serde_json::from_value(object)?).await?;
        Ok(())
    }

    /// Changes an object by a merge patch.
    async fn patch(&self, kind: &str, name: &str, patch: Value) -> Result<()> {
        self.kind(kind).patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Sets annotations of an object; `null` removes one.
    async fn annotate(&self, kind: &str, name: &str, annotations: Value) -> Result<()> {
        self.patch(kind, name, json!({"metadata": {"annotations": annotations}})).await
    }

    async fn get(&self, kind: &str, name: &str) -> Result<Value> {
        Ok(serde_json::to_value(self.kind(kind).get(name).await?)?)
    }

    async fn delete(&self, kind: &str, name: &str) -> Result<()> {
        self.kind(kind).delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    fn kind(&self, kind: &str) -> Api<DynamicObject> {
        let group = match kind {
            "KubeadmControlPlane" => "controlplane.cluster.x-k8s.io",
            "KubeadmConfig" => "bootstrap.cluster.x-k8s.io",
            "DevMachine" => "infrastructure.cluster.x-k8s.io",
            _ => "cluster.x-k8s.io",
        };
        let resource = ApiResource {
            group: group.to_owned(),
            version: "v1beta2".to_owned(),
            api_version: format!("{group}/v1beta2"),
            kind: kind.to_owned(),
            plural: engine::contract::plural(kind),
        };
        Api::namespaced_with(self.client.clone(), "default", &resource)
    }

    /// A client of the workload cluster.
    fn workload(&self) -> Result<Client> {
        let cluster = self.life.manager.clusters().get(&NamespacedName::new("default", "plain"))?;
        Ok(cluster.client().clone())
    }

    /// Sets the condition Ready of a Node.
    async fn set_node(&self, name: &str, status: &str) -> Result<()> {
        let (reason, message) = match status {
            "True" => ("KubeletReady", "kubelet is posting ready status"),
            "False" => ("KubeletNotReady", "kubelet is sick"),
            _ => ("NodeStatusUnknown", "Kubelet stopped posting node status."),
        };
        let time = machinery::clock::rfc3339(self.life.clock.now());
        let patch = json!({"status": {"conditions": [{"type": "Ready", "status": status, "reason": reason, "message": message,
            "lastTransitionTime": time}]}});
        let nodes: Api<Node> = Api::all(self.workload()?);
        let patched = nodes.patch_status(name, &PatchParams::default(), &Patch::Strategic(patch)).await;
        patched.with_context(|| format!("Node {name}"))?;
        Ok(())
    }

    /// Creates a health check that finds Nodes sick after ten seconds.
    async fn check_health(&self, name: &str, limit: &str, labels: Value) -> Result<()> {
        let conditions = ["False", "Unknown"]
            .map(|status| json!({"type": "Ready", "status": status, "timeoutSeconds": 10}));
        let spec = json!({"clusterName": "plain", "selector": {"matchLabels": labels},
            "checks": {"nodeStartupTimeoutSeconds": 120, "unhealthyNodeConditions": conditions},
            "remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": limit}}});
        self.create("MachineHealthCheck", name, json!({}), spec).await
    }

    /// Returns the Machine that was not there before.
    fn new_machine(&self, prefix: &str, before: &[String]) -> Result<String> {
        let mut now = self.story.machines(prefix).into_iter();
        now.find(|name| !before.contains(name)).context("no new Machine")
    }
}
