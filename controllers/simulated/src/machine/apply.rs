//! Carries out the plan of a DevMachine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use engine::object::{annotation, is_deleting, uid};
use engine::{Action, Error, NamespacedName, Outcome, Planned, Result, finalizer, paused};
use machinery::hash::fnv1a_64;
use schemas::cluster::Cluster;
use schemas::infrastructure::DevMachine;
use serde_json::json;

use super::observe::{DevMachineController, Read, has_node};
use super::plan::{self, Plan};
use super::signal;
use super::status;
use crate::hand_over::is_moving;
use crate::names::{BOOTSTRAPPED, MACHINE_FINALIZER};
use crate::workload::objects::{Host, provider_id};
use crate::workload::part::Part;
use crate::workload::{Authorities, Workload};

impl DevMachineController {
    /// Starts or stops the parts of the machine according to the plan.
    pub(super) async fn execute(&self, read: &Read, plan: &Plan) -> Outcome<DevMachine> {
        let now = self.manager.clock().now();
        let mut wanted = read.dev.as_ref().clone();
        paused::set(&mut wanted, Some(&read.cluster), now);
        let result = if plan.stop { self.stop(read).await } else { self.run(read, plan).await };
        if let Err(error) = result {
            return Outcome { wanted: Some(wanted), errors: vec![error], action: Action::done() };
        }
        if plan.stop {
            finalizer::remove(&mut wanted, MACHINE_FINALIZER);
            return Outcome { wanted: Some(wanted), errors: Vec::new(), action: Action::done() };
        }
        for (key, value) in &plan.annotations {
            wanted.metadata.annotations.get_or_insert_default().insert((*key).to_owned(), value.clone());
        }
        status::write(&mut wanted, plan, &read.machine, read.control_plane, now);
        match self.record(read, plan, &wanted).await {
            Ok(()) => Outcome::done(plan.due_after.map_or_else(Action::done, Action::requeue_after)),
            Err(error) => Outcome::failed(error),
        }
    }

    /// Writes the DevMachine, and then the objects that depend on it.
    async fn record(&self, read: &Read, plan: &Plan, wanted: &DevMachine) -> Result<()> {
        if let Some(signal) = read.signal.as_ref().filter(|_| plan.acknowledges_signal) {
            signal::acknowledge(&self.config_maps, signal).await?;
        }
        self.objects.patch(&read.dev, wanted, Self::OWNED).await?;
        self.remember_start(read, plan).await?;
        self.open(read).await;
        Ok(())
    }

    /// Starts the parts of a paused machine that ran before this process was started.
    pub(super) async fn bring_back(&self, dev: &DevMachine, cluster: &Arc<Cluster>) -> Result<()> {
        let name = NamespacedName::of(cluster.as_ref());
        // The controller of the DevCluster decides whether the cluster runs here. The state of one that moves is held.
        if is_deleting(dev) || is_moving(cluster) || self.backend.get(&name).await.is_none() {
            return Ok(());
        }
        let Some(read) = self.read(Arc::new(dev.clone()), cluster.clone()).await else { return Ok(()) };
        self.run(&read, &plan::while_paused(&read.observed(), self.manager.clock().now())).await?;
        self.open(&read).await;
        Ok(())
    }

    async fn stop(&self, read: &Read) -> Result<()> {
        let Some(workload) = &read.workload else { return Ok(()) };
        let name = read.dev.metadata.name.as_deref().unwrap_or_default();
        workload.stop(name).await.map_err(|error| Error::failed(error.to_string()))
    }

    /// Starts the parts that run according to the plan.
    async fn run(&self, read: &Read, plan: &Plan) -> Result<()> {
        if plan.running.is_empty() {
            return Ok(());
        }
        let port = read.cluster.spec.control_plane_endpoint.as_ref().and_then(|endpoint| endpoint.port);
        let port = port.and_then(|port| u16::try_from(port).ok());
        let workload = match &read.workload {
            Some(workload) => workload.clone(),
            None => self.backend.start(&read.name, port, &BTreeSet::new()).await?.0,
        };
        self.start_parts(read, plan, &workload).await?;
        let Some(symptoms) = plan.symptoms else { return Ok(()) };
        let shown = workload.show(read.dev.metadata.name.as_deref().unwrap_or_default(), symptoms).await;
        shown.map_err(|error| Error::failed(format!("{}: {error}", super::failures::CONDITION)))
    }

    /// Starts the parts that do not run yet.
    async fn start_parts(&self, read: &Read, plan: &Plan, workload: &Workload) -> Result<()> {
        let name = read.dev.metadata.name.as_deref().unwrap_or_default();
        if plan.running.iter().all(|part| workload.runs(name, *part)) {
            return Ok(());
        }
        let authorities = Authorities::of_secrets(&self.secrets, &read.name)?;
        let host = Host {
            name: name.to_owned(),
            version: read.version(),
            control_plane: read.control_plane,
            member_id: fnv1a_64(uid(read.dev.as_ref()).as_bytes()),
            cluster_id: fnv1a_64(uid(read.cluster.as_ref()).as_bytes()),
            provider_id: read.dev.metadata.name.as_deref().map(provider_id),
            labels: BTreeMap::new(),
            addresses: Vec::new(),
            endpoint: endpoint(&read.cluster),
        };
        for part in &plan.running {
            let outcome = workload.start(&host, *part, &authorities).await;
            outcome.map_err(|error| Error::failed(format!("{}: {error}", part.condition())))?;
        }
        Ok(())
    }

    /// Marks the Machine as started, so that it starts without delay after a restart or a move.
    async fn remember_start(&self, read: &Read, plan: &Plan) -> Result<()> {
        let last = if read.control_plane { Part::ApiServer } else { Part::Node };
        if !plan.running.contains(&last) || annotation(read.machine.as_ref(), BOOTSTRAPPED).is_some() {
            return Ok(());
        }
        let key = NamespacedName::of(read.machine.as_ref());
        let patch = json!({"metadata": {"annotations": {BOOTSTRAPPED: ""}}});
        self.machines.merge(&key, None, patch).await.map(drop)
    }

    /// Opens the cluster to clients once all its provisioned machines run. The cluster may have been started by this reconcile, so that
    /// what it read before does not count.
    async fn open(&self, read: &Read) {
        let Some(workload) = self.backend.get(&read.name).await else { return };
        let all = self.objects.by_cluster(&read.name);
        let provisioned = all.iter().filter(|dev| has_node(dev) && self.machine_of(dev).is_some());
        workload
            .open_when_complete(&provisioned.filter_map(|machine| machine.metadata.name.clone()).collect());
    }
}

/// Returns the URL of a Cluster's API server; `None` if its endpoint is not known.
fn endpoint(cluster: &Cluster) -> Option<String> {
    let endpoint = cluster.spec.control_plane_endpoint.as_ref()?;
    Some(format!("https://{}:{}", endpoint.host.as_deref()?, endpoint.port?))
}
