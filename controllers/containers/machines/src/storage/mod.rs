//! Volumes for claims of Pods: folders in the nodes, for each StorageClass whose provisioner is [`STORAGE_PROVISIONER`]. So clusters need no image of a
//! provisioner, and no Pod of one. A cluster without such a class is left alone.

mod plan;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use engine::controller::requests_of;
use engine::object::is_deleting;
use engine::{
    Action, Controller, Descriptor, Error, Manager, NamespacedName, Objects, Reconciler, Request, Result,
    Upstream, Workload, owners, paused,
};
use futures::FutureExt;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use schemas::cluster::Cluster;
use schemas::infrastructure::{DevCluster, DevMachine};
use system_containers::{Exit, Runtime, State, run};

use crate::cluster::owned_by;
use crate::limits;
use crate::names::{PROVIDER_ID, STORAGE_PROVISIONER};
use crate::nodes::Nodes;
use plan::{Observed, Step};

/// The descriptor of the controller, which reconciles no kind of its own.
pub(crate) const CONTROLLER: Descriptor<Nodes> = Descriptor { name: "node-storage", reconciles: &[], start };

/// Starts the controller.
fn start(manager: &Manager, nodes: &Nodes) {
    let reconciler = StorageReconciler {
        objects: manager.objects(),
        machines: manager.objects(),
        clusters: manager.objects(),
        upstream: Upstream::new(manager, dev_machine_pools::names::UPSTREAM),
        nodes: nodes.clone(),
        manager: manager.clone(),
    };
    let (connected, all) = (reconciler.objects.clone(), reconciler.objects.clone());
    let controller = Controller::new(manager, CONTROLLER.name)
        .reconciles(&reconciler.objects)
        .reads(&reconciler.machines)
        .reads(&reconciler.clusters)
        .stands_aside(&reconciler.upstream, move || requests_of(&all.all()));
    manager.clusters().notify(&controller.queue(), move |cluster| owned_by(&connected, cluster));
    controller.start(reconciler);
}

struct StorageReconciler {
    objects: Objects<DevCluster>,
    machines: Objects<DevMachine>,
    clusters: Objects<Cluster>,
    upstream: Upstream,
    nodes: Nodes,
    manager: Manager,
}

impl Reconciler for StorageReconciler {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(cluster) = self.objects.get(&request).and_then(|dev| self.cluster(&dev)) else {
            return Ok(Action::done());
        };
        // Each connection causes a reconcile.
        let Ok(workload) = self.manager.clusters().get(&cluster) else { return Ok(Action::done()) };
        let observed = match self.observe(&workload, &cluster) {
            Ok(observed) => observed,
            Err(again) => return Ok(Action::requeue_after(again)),
        };
        let mut next = limits::CLAIMS;
        for step in plan::plan(&observed) {
            // One that fails does not hinder the others, and no claim waits longer than the next look.
            if let Err(error) = self.take(&workload, step).await {
                tracing::warn!(%cluster, %error, "cannot take a step for a claim");
                next = limits::INSPECT;
            }
        }
        Ok(Action::requeue_after(next))
    }
}

impl StorageReconciler {
    /// Returns the Cluster of a DevCluster whose nodes are containers here.
    fn cluster(&self, dev: &DevCluster) -> Option<NamespacedName> {
        let backend = &dev.spec.backend;
        let is_here = backend.docker.is_some() && backend.in_memory.is_none() && !is_deleting(dev);
        let cluster = owners::named::<Cluster>(dev)?;
        let is_paused = !paused::causes(dev, Some(self.clusters.get(&cluster)?.as_ref())).is_empty();
        (is_here && !is_paused && self.upstream.left(DevCluster::KIND).is_none()).then_some(cluster)
    }

    /// Returns what is in a cluster. The error says when to look again: the cluster has neither a class of these volumes nor one of them, or its first
    /// lists have not come yet.
    fn observe(
        &self,
        workload: &Workload,
        cluster: &NamespacedName,
    ) -> std::result::Result<Observed, Duration> {
        let classes = workload.objects::<StorageClass>();
        classes.wait_until_synced().now_or_never().ok_or(limits::CLAIMS)?;
        let volumes = workload.objects::<PersistentVolume>();
        volumes.wait_until_synced().now_or_never().ok_or(limits::CLAIMS)?;
        let (classes, volumes) = (classes.all(), volumes.all());
        if !classes.iter().any(|class| plan::is_ours(class))
            && !volumes.iter().any(|it| plan::is_made_here(it))
        {
            return Err(limits::INSPECT);
        }
        let claims = workload.objects::<PersistentVolumeClaim>();
        claims.wait_until_synced().now_or_never().ok_or(limits::CLAIMS)?;
        let name = |dev: Arc<DevMachine>| {
            let id = dev.spec.provider_id.as_deref()?;
            id.strip_prefix(PROVIDER_ID).map(str::to_owned)
        };
        let nodes = self.machines.by_cluster(cluster).into_iter().filter_map(name).collect();
        Ok(Observed { classes, claims: claims.all(), volumes, nodes })
    }

    async fn take(&self, workload: &Workload, step: Step) -> Result<()> {
        let volumes = workload.objects::<PersistentVolume>();
        match step {
            Step::Make { node, volume } => {
                // Any user of a Pod may write to it, as in the folders of other provisioners.
                self.execute(&node, &["mkdir", "-p", "-m", "0777", &plan::folder(&volume)]).await?;
                volumes.create_if_absent(&volume).await.map(drop)
            }
            Step::Remove { node, volume } => {
                if let Some(node) = node {
                    self.execute(&node, &["rm", "-rf", "--one-file-system", "--", &plan::folder(&volume)])
                        .await?;
                }
                volumes.delete(&volume).await
            }
        }
    }

    async fn execute(&self, node: &str, command: &[&str]) -> Result<()> {
        let parts = self.nodes.parts().await.map_err(failed)?;
        in_node(parts.runtime.as_ref(), node, command).await.map_err(failed)
    }
}

fn failed(error: anyhow::Error) -> Error {
    Error::failed(format!("a volume of {STORAGE_PROVISIONER}: {error:#}"))
}

/// Runs a command in a node that runs: in a paused one it would wait until somebody resumes it.
async fn in_node(runtime: &dyn Runtime, node: &str, command: &[&str]) -> anyhow::Result<()> {
    let found = runtime.inspect(node).await?;
    ensure!(found.is_some_and(|found| found.state == State::Running), "node {node} does not run");
    let ran = run(runtime, node, command, b"", limits::COMMAND).await?;
    let program = command.first().context("there is no command")?;
    match ran.exit {
        Exit::Code(0) => Ok(()),
        Exit::Code(code) => {
            bail!("{program} in {node} exited with {code}: {}", String::from_utf8_lossy(&ran.stderr).trim())
        }
        Exit::TimedOut => bail!("{program} in {node} has not ended after {} s", limits::COMMAND.as_secs()),
    }
}
