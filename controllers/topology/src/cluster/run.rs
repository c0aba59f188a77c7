//! One reconcile of a Cluster with a topology.

use std::sync::Arc;
use std::time::Duration;

use engine::object::{annotation, is_deleting};
use engine::{
    Action, Error, External, Manager, NamespacedName, Objects, Reconciler, Request, Result, paused,
    unless_gone,
};
use schemas::cluster::{Cluster, ClusterClass};
use schemas::deletion_grace;
use serde_json::json;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::apply::{self, Handles};
use super::blocked::{Blocked, retry_after};
use super::hooks::{self, HookCalls, OK_TO_DELETE};
use super::memory::{Memory, OfCluster};
use super::observe::{self, Sources};
use super::observed::Observed;
use super::status::{self, Report, TOPOLOGY_RECONCILED};
use super::watches::class_of;
use super::{lifecycle, patching, plan, planner};
use crate::Blueprint;
use crate::extensions::{Context, Extensions, Hook};
use crate::limits::LARGE_TEMPLATES_BYTES;
use crate::versions::{Facts, UpgradePlan};

/// The controller of Clusters with a topology.
pub(super) struct TopologyController {
    manager: Manager,
    clusters: Objects<Cluster>,
    classes: Objects<ClusterClass>,
    sources: Sources,
    handles: Handles,
    calls: HookCalls,
    extensions: Arc<dyn Extensions>,
    memory: Arc<Memory>,
    /// For Clusters whose templates need much memory: one at a time.
    large: Semaphore,
}

/// What a reconcile has found out, also if it fails afterwards.
#[derive(Default)]
struct Progress {
    /// The plan of the upgrade, once it is known.
    plan: Option<UpgradePlan>,
    /// When to reconcile again.
    retry_after: Option<Duration>,
}

impl Progress {
    fn wait_for(&mut self, blocked: &[Blocked]) {
        self.retry_after = retry_after(blocked);
    }
}

impl Reconciler for TopologyController {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(cluster) = self.clusters.get(&request) else {
            self.memory.forget(&request);
            return Ok(Action::done());
        };
        if cluster.spec.topology.is_none() {
            return Ok(Action::done());
        }
        let mut progress = Progress::default();
        let (report, error) = match self.advance(&cluster, &mut progress).await {
            Ok(report) => (Some(report), None),
            // A conflict says only that somebody else has written an object, too.
            Err(error) if error.is_conflict() => (None, Some(error)),
            Err(error) => (Some(Report::Failed(error.to_string())), Some(error)),
        };
        let written = match report {
            Some(report) => self.write_status(&request, &report, progress.plan.as_ref()).await,
            None => Ok(()),
        };
        Error::aggregate(error.into_iter().chain(written.err()).collect())?;
        Ok(Action { requeue_after: progress.retry_after })
    }
}

impl TopologyController {
    /// Creates the controller, which gets the changes of provider objects by `external`.
    pub fn new(manager: &Manager, context: &Context, external: External) -> Self {
        let (external, memory) = (Arc::new(external), Arc::<Memory>::default());
        Self {
            manager: manager.clone(),
            clusters: manager.objects(),
            classes: manager.objects(),
            sources: Sources::new(manager, &external),
            handles: Handles::new(manager, &external),
            calls: HookCalls::new(manager, &context.extensions, &memory),
            extensions: context.extensions.clone(),
            memory,
            large: Semaphore::new(1),
        }
    }

    async fn write_status(
        &self,
        name: &NamespacedName,
        report: &Report,
        plan: Option<&UpgradePlan>,
    ) -> Result<()> {
        let Some(read) = self.clusters.get(name) else { return Ok(()) };
        let mut wanted = read.as_ref().clone();
        status::set(&mut wanted, report, plan, self.manager.clock().now());
        unless_gone(self.clusters.patch(&read, &wanted, &[TOPOLOGY_RECONCILED]).await)
    }

    /// Takes all steps that are possible now.
    async fn advance(&self, cluster: &Arc<Cluster>, progress: &mut Progress) -> Result<Report> {
        let causes = paused::causes(cluster.as_ref(), Some(cluster));
        if !causes.is_empty() {
            return Ok(Report::Paused(causes));
        }
        // No extension hears of a deletion that can still be undone.
        if deletion_grace::holds(cluster) {
            return Ok(Report::Deleting(Vec::new()));
        }
        if is_deleting(cluster.as_ref()) {
            return self.prepare_deletion(cluster, progress).await;
        }
        let class = self.class(cluster)?;
        if let Some(missing) = plan::not_reconciled(&class) {
            return Ok(Report::ClassNotReconciled(missing));
        }
        let blueprint = observe::blueprint(&self.sources.provided, class).await?;
        let _seat = self.seat(cluster, &blueprint).await;
        let memory = self.memory.of(cluster);
        let observed = observe::observe(&self.sources, cluster, blueprint, &memory).await?;
        if plan::is_new(cluster)
            && let Some(blocked) = self.calls.call(cluster, Hook::BeforeClusterCreate, json!({})).await?
        {
            let blocked = vec![blocked];
            progress.wait_for(&blocked);
            return Ok(Report::Creating(blocked));
        }
        self.reconcile_objects(&observed, &memory, progress).await
    }

    fn class(&self, cluster: &Cluster) -> Result<Arc<ClusterClass>> {
        let name = class_of(cluster).unwrap_or_default();
        let missing =
            || Error::failed(format!("ClusterClass {name} (spec.topology.classRef) does not exist"));
        self.classes.get(&name).ok_or_else(missing)
    }

    /// Waits until the objects of the Cluster may be read and made. They are, while the result is kept.
    async fn seat(&self, cluster: &Cluster, blueprint: &Blueprint) -> Option<SemaphorePermit<'_>> {
        if blueprint.copied_bytes(cluster) < LARGE_TEMPLATES_BYTES {
            return None;
        }
        self.large.acquire().await.ok()
    }

    /// Lets the Cluster be deleted once the extensions have nothing against it. Its own controller does the rest.
    async fn prepare_deletion(&self, cluster: &Arc<Cluster>, progress: &mut Progress) -> Result<Report> {
        if !self.calls.is_on() || annotation(cluster.as_ref(), OK_TO_DELETE).is_some() {
            return Ok(Report::Deleting(Vec::new()));
        }
        let blocked = self.calls.call(cluster, Hook::BeforeClusterDelete, json!({})).await?;
        let blocked: Vec<Blocked> = blocked.into_iter().collect();
        progress.wait_for(&blocked);
        if blocked.is_empty() {
            let mut wanted = cluster.as_ref().clone();
            wanted
                .metadata
                .annotations
                .get_or_insert_default()
                .insert(OK_TO_DELETE.to_owned(), String::new());
            unless_gone(self.clusters.patch(cluster, &wanted, &[]).await)?;
        }
        Ok(Report::Deleting(blocked))
    }

    /// Decides about versions, and brings all objects to what the class and the Cluster want.
    async fn reconcile_objects(
        &self,
        observed: &Observed,
        memory: &OfCluster,
        progress: &mut Progress,
    ) -> Result<Report> {
        let (extensions, calls) = (self.extensions.as_ref(), &self.calls);
        let cluster = &observed.current.cluster;
        let name = NamespacedName::of(cluster.as_ref());
        let facts = Facts::of(&observed.current).map_err(Error::Failed)?;
        let now = self.manager.clock().now();
        let answer = planner::ask(extensions, observed, &facts, memory, now).await?;
        let upgrade = plan::upgrade_plan(observed, &facts, answer.as_ref()).map_err(Error::Failed)?;
        progress.plan = Some(upgrade.clone());
        let mut hooks = plan::hooks_of(observed);
        let decision = lifecycle::decide(calls, observed, &facts, &upgrade, &mut hooks).await?;
        let mut blocked: Vec<Blocked> =
            decision.versions.control_plane.blocked.iter().map(lifecycle::blocked_of).collect();
        let desired = patching::desired(extensions, self.manager.random(), observed, &decision).await?;
        lifecycle::after_initialization(calls, cluster).await?;
        blocked.extend(lifecycle::after_upgrade(calls, observed, &decision, &hooks).await?);
        progress.wait_for(&blocked);
        // Hooks are pending before the step is taken that they come after, but not before it is known that it can be taken: if an extension
        // fails, the control plane keeps its version, and there is nothing that a hook could come after.
        let chosen = &decision.versions.control_plane;
        calls.mark(&name, &lifecycle::names(&chosen.pending), &[]).await?;
        let started = async || calls.mark(&name, &lifecycle::names(&chosen.following), &[]).await;
        apply::apply(&self.handles, observed, &decision, desired, memory, started).await?;
        let is_hook_pending = calls.latest(&name).is_some_and(|cluster| {
            observed.calls_hooks && hooks::is_pending(&cluster, Hook::AfterClusterUpgrade)
        });
        let control_plane = plan::control_plane_kind(observed).to_owned();
        Ok(Report::Reconciled { decision: Box::new(decision), blocked, control_plane, is_hook_pending })
    }
}
