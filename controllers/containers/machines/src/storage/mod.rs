//! Volumes for claims of Pods: folders in the nodes, for each StorageClass whose provisioner is [`STORAGE_PROVISIONER`]. So clusters need no image of a
//! provisioner, and no Pod of one. A cluster without such a class is left alone.

mod plan;
mod refusals;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use engine::controller::requests_of;
use engine::object::{is_deleting, uid};
use engine::{
    Action, Controller, Descriptor, Error, Manager, NamespacedName, Objects, Reconciler, Request, Result,
    Upstream, Workload, owners, paused,
};
use futures::FutureExt;
use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use parking_lot::Mutex;
use schemas::cluster::Cluster;
use schemas::infrastructure::{DevCluster, DevMachine};
use serde_json::json;
use system_containers::{Exit, Runtime, State, run};
use tokio::time::Instant;

use crate::cluster::owned_by;
use crate::limits;
use crate::names::{PROVIDER_ID, STORAGE_PROVISIONER};
use crate::nodes::Nodes;
use plan::SELECTED;
pub use plan::{Observed, Step, plan};

/// The reason of events about claims that get no volume, as of all provisioners.
const FAILED: &str = "ProvisioningFailed";

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
        said: Mutex::default(),
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
    /// What was last said of the claims of each DevCluster.
    said: Mutex<BTreeMap<Request, Said>>,
    manager: Manager,
}

/// What was last said of claims and when, by their UIDs.
type Said = BTreeMap<String, (String, Instant)>;

impl Reconciler for StorageReconciler {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(cluster) = self.objects.get(&request).and_then(|dev| self.cluster(&dev)) else {
            self.said.lock().remove(&request);
            return Ok(Action::done());
        };
        // Each connection causes a reconcile.
        let Ok(workload) = self.manager.clusters().get(&cluster) else { return Ok(Action::done()) };
        let observed = match self.observe(&workload, &cluster) {
            Ok(observed) => observed,
            Err(again) => return Ok(Action::requeue_after(again)),
        };
        self.forget(&request, &observed);
        let mut next = limits::CLAIMS;
        for step in plan(&observed) {
            // One that fails does not hinder the others, and no claim waits longer than the next look.
            if let Err(error) = self.take(&request, &workload, step).await {
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
        let joined = workload.objects::<Node>();
        joined.wait_until_synced().now_or_never().ok_or(limits::CLAIMS)?;
        let joined = joined.all().iter().filter_map(|node| node.metadata.name.clone()).collect();
        let name = |dev: Arc<DevMachine>| {
            let id = dev.spec.provider_id.as_deref()?;
            id.strip_prefix(PROVIDER_ID).map(str::to_owned)
        };
        let nodes = self.machines.by_cluster(cluster).into_iter().filter_map(name).collect();
        Ok(Observed { classes, claims: claims.all(), volumes, nodes, joined })
    }

    async fn take(&self, request: &Request, workload: &Workload, step: Step) -> Result<()> {
        let volumes = workload.objects::<PersistentVolume>();
        match step {
            Step::Make { node, volume, claim } => {
                // Any user of a Pod may write to it, as in the folders of other provisioners.
                let made = self.execute(&node, &["mkdir", "-p", "-m", "0777", &plan::folder(&volume)]).await;
                if let Err(error) = made {
                    self.say(request, workload, &claim, &error.to_string());
                    return Err(error);
                }
                volumes.create_if_absent(&volume).await.map(drop)
            }
            Step::Refuse { claim, why } => {
                self.say(request, workload, &claim, &why);
                Ok(())
            }
            Step::Reschedule { claim, node } => {
                // The cache of Nodes can be older than that of claims.
                let nodes = workload.objects::<Node>();
                if nodes.get_live(&NamespacedName::new("", node.as_str())).await?.is_some() {
                    return Ok(());
                }
                let why = format!("node {node} is gone: the scheduler chooses another one");
                self.say(request, workload, &claim, &why);
                reschedule(workload, &claim).await
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

    /// Tells a claim why it has no volume, unless it was just told the same. Events do not last, so it is said again after a while.
    fn say(&self, request: &Request, workload: &Workload, claim: &PersistentVolumeClaim, why: &str) {
        let mut said = self.said.lock();
        let of_cluster = said.entry(request.clone()).or_default();
        let now = self.manager.clock().monotonic();
        let is_same = |(last, at): &(String, Instant)| last == why && now - *at < limits::SAY_AGAIN;
        if of_cluster.get(uid(claim)).is_some_and(is_same) {
            return;
        }
        of_cluster.insert(uid(claim).to_owned(), (why.to_owned(), now));
        let recorder = self.manager.workload_recorder(workload, STORAGE_PROVISIONER);
        recorder.warning(claim, &(), FAILED, why);
    }

    /// Forgets what was said of claims that are gone.
    fn forget(&self, request: &Request, observed: &Observed) {
        if let Some(said) = self.said.lock().get_mut(request) {
            said.retain(|known, _| observed.claims.iter().any(|claim| uid(claim.as_ref()) == known));
        }
    }

    async fn execute(&self, node: &str, command: &[&str]) -> Result<()> {
        let parts = self.nodes.parts().await.map_err(failed)?;
        in_node(parts.runtime.as_ref(), node, command).await.map_err(failed)
    }
}

/// Takes the node from a claim, which lets the scheduler choose again, as Kubernetes' library for provisioners does
/// (sig-storage-lib-external-provisioner, `rescheduleProvisioning`).
async fn reschedule(workload: &Workload, claim: &PersistentVolumeClaim) -> Result<()> {
    // Another node that was chosen meanwhile stays.
    let metadata =
        json!({"resourceVersion": claim.metadata.resource_version, "annotations": {SELECTED: null}});
    let claims = workload.objects::<PersistentVolumeClaim>();
    claims.merge(&NamespacedName::of(claim), None, json!({"metadata": metadata})).await.map(drop)
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
