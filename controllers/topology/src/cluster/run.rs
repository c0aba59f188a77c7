//! One reconcile of a Cluster with a topology.

use std::sync::Arc;
use std::time::Duration;

use engine::object::{annotation, is_deleting};
use engine::{Action, Error, NamespacedName, Reconciler, Request, Result, aside, paused, unless_gone};
use schemas::HasConditions;
use schemas::cluster::{Cluster, ClusterClass, ClusterClassPatch};
use serde_json::{Value, json};

use super::blocked::{Blocked, retry_after};
use super::hooks::{self, OK_TO_DELETE};
use super::lifecycle;
use super::observe::{Observed, TopologyController};
use super::plan::{self, Decision};
use super::status::{self, Report, TOPOLOGY_RECONCILED};
use super::watches::class_of;
use crate::extensions::Hook;
use crate::versions::{Facts, Hooks, UpgradePlan};
use crate::{Desired, PatchError, Step};

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
        if is_deleting(cluster.as_ref()) {
            return self.prepare_deletion(cluster, progress).await;
        }
        let class = self.class(cluster)?;
        if let Some(missing) = not_reconciled(&class) {
            return Ok(Report::ClassNotReconciled(missing));
        }
        let blueprint = self.blueprint(class).await?;
        let _seat = self.seat(cluster, &blueprint).await;
        let observed = self.read(cluster, blueprint).await?;
        if plan::is_new(cluster)
            && let Some(blocked) = self.call_hook(cluster, Hook::BeforeClusterCreate, json!({})).await?
        {
            let blocked = vec![blocked];
            progress.wait_for(&blocked);
            return Ok(Report::Creating(blocked));
        }
        self.reconcile_objects(&observed, progress).await
    }

    fn class(&self, cluster: &Cluster) -> Result<Arc<ClusterClass>> {
        let name = class_of(cluster).unwrap_or_default();
        let missing =
            || Error::failed(format!("ClusterClass {name} (spec.topology.classRef) does not exist"));
        self.classes.get(&name).ok_or_else(missing)
    }

    /// Lets the Cluster be deleted once the extensions have nothing against it. Its own controller does the rest.
    async fn prepare_deletion(&self, cluster: &Arc<Cluster>, progress: &mut Progress) -> Result<Report> {
        if !self.manager.features().runtime_sdk || annotation(cluster.as_ref(), OK_TO_DELETE).is_some() {
            return Ok(Report::Deleting(Vec::new()));
        }
        let blocked = self.call_hook(cluster, Hook::BeforeClusterDelete, json!({})).await?;
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
    async fn reconcile_objects(&self, observed: &Observed, progress: &mut Progress) -> Result<Report> {
        let cluster = &observed.current.cluster;
        let name = NamespacedName::of(cluster.as_ref());
        let facts = Facts::of(&observed.current).map_err(Error::Failed)?;
        let answer = self.ask_planner(observed, &facts).await?;
        let upgrade = plan::upgrade_plan(observed, &facts, answer.as_ref()).map_err(Error::Failed)?;
        progress.plan = Some(upgrade.clone());
        let mut hooks = plan::hooks_of(observed);
        let decision = self.decide(observed, &facts, &upgrade, &mut hooks).await?;
        let mut blocked: Vec<Blocked> =
            decision.versions.control_plane.blocked.iter().map(lifecycle::blocked_of).collect();
        let desired = self.desired(observed, &decision).await?;
        self.call_after_initialization(cluster).await?;
        blocked.extend(self.call_after_upgrade(observed, &decision, &hooks).await?);
        progress.wait_for(&blocked);
        // Hooks that come after a step are pending before the step is taken, but not before it is known that it can be taken: if an extension
        // fails, the control plane keeps its version, and there is nothing that a hook could come after.
        self.mark_hooks(&name, &names(&decision.versions.control_plane.pending), &[]).await?;
        self.execute(observed, &decision, desired).await?;
        let latest = self.clusters.get(&name);
        let is_hook_pending = latest.is_some_and(|cluster| {
            observed.calls_hooks && hooks::is_pending(&cluster, Hook::AfterClusterUpgrade)
        });
        let control_plane = plan::control_plane_kind(observed).to_owned();
        Ok(Report::Reconciled { decision: Box::new(decision), blocked, control_plane, is_hook_pending })
    }

    /// Chooses the versions. A hook that must be called first is called, and the choice is made again with its answer.
    async fn decide(
        &self,
        observed: &Observed,
        facts: &Facts,
        upgrade: &UpgradePlan,
        hooks: &mut Hooks,
    ) -> Result<Decision> {
        let name = NamespacedName::of(observed.current.cluster.as_ref());
        loop {
            let (decision, question) = plan::decide(facts, upgrade, hooks).map_err(Error::Failed)?;
            let chosen = &decision.versions.control_plane;
            // What was answered is recorded before the next hook is called: if that one fails, those before it are not called again.
            let begun = if question.is_some() { names(&chosen.pending) } else { Vec::new() };
            self.mark_hooks(&name, &begun, &names(&chosen.done)).await?;
            let Some(question) = question else { return Ok(decision) };
            if hooks.answers.contains_key(&question.hook) {
                let hook = question.hook;
                return Err(Error::failed(format!(
                    "the hook {hook} was asked for twice: this is a fault of this program"
                )));
            }
            let answer = self.ask(observed, upgrade, &question).await?;
            hooks.answers.insert(question.hook, answer);
        }
    }

    /// Makes the wanted objects, with all patches of the class.
    async fn desired(&self, observed: &Observed, decision: &Decision) -> Result<Desired> {
        let random = self.manager.random().clone();
        let patching = aside(|| plan::patching(observed, decision, &mut || random.name_suffix()));
        let mut patching = patching.map_err(Error::Failed)?;
        let failed = |error: PatchError| Error::failed(error.to_string());
        // Extensions select the namespaces of Clusters, and a class may be in another one.
        let namespace = observed.current.cluster.metadata.namespace.as_deref().unwrap_or_default();
        loop {
            match aside(|| patching.next()).map_err(failed)? {
                Step::Done => break,
                Step::Generate { patch, request } => {
                    let (hook, request) = (Hook::GeneratePatches, json!(request));
                    let answer = self.call_for_patch(observed, patch, hook, namespace, request).await?;
                    let answer = serde_json::from_value(answer).map_err(|error| {
                        Error::json(format!("what the extension of patch {} answered", patch.name), error)
                    })?;
                    aside(|| patching.answer(answer)).map_err(failed)?;
                }
                Step::Validate { patch, request } => {
                    let (hook, request) = (Hook::ValidateTopology, json!(request));
                    self.call_for_patch(observed, patch, hook, namespace, request).await?;
                }
            }
        }
        aside(|| patching.finish()).map_err(failed)
    }

    /// Calls the extension of a patch.
    async fn call_for_patch(
        &self,
        observed: &Observed,
        patch: &ClusterClassPatch,
        hook: Hook,
        namespace: &str,
        request: Value,
    ) -> Result<Value> {
        let external = patch.external.as_ref();
        let name = external.and_then(|external| match hook {
            Hook::ValidateTopology => external.validate_topology_extension.as_deref(),
            _ => external.generate_patches_extension.as_deref(),
        });
        let name = name.unwrap_or_default();
        if !observed.calls_hooks {
            return Err(Error::failed(format!(
                "the patch {} of the ClusterClass needs the extension {name}, but the feature gate RuntimeSDK is off",
                patch.name
            )));
        }
        let settings = external.map(|external| external.settings.clone()).unwrap_or_default();
        let answer = self.extensions.call(hook, name, namespace, &settings, request).await;
        answer.map_err(|error| Error::failed(format!("patch {} of the ClusterClass: {error}", patch.name)))
    }
}

fn names(hooks: &[crate::versions::Hook]) -> Vec<&'static str> {
    hooks.iter().map(|hook| hook.name()).collect()
}

/// Returns what a ClusterClass lacks before Clusters can be made from it; `None` if it is reconciled.
fn not_reconciled(class: &ClusterClass) -> Option<String> {
    let name = NamespacedName::of(class);
    let status = class.status.as_ref();
    let observed = status.and_then(|status| status.observed_generation).unwrap_or_default();
    let generation = class.metadata.generation.unwrap_or_default();
    let not_ready = match class.condition("VariablesReady") {
        None => Some("VariablesReady is not reported yet".to_owned()),
        Some(ready) if ready.status == "False" => Some(format!("VariablesReady is False: {}", ready.message)),
        Some(_) if observed != generation => {
            // A class with a template that cannot be used never gets there.
            let versions = class.condition("RefVersionsUpToDate").filter(|found| found.status == "Unknown");
            let why = versions.map(|found| format!(": {}", found.message)).unwrap_or_default();
            Some(format!("status.observedGeneration must be {generation}, but is {observed}{why}"))
        }
        Some(_) => None,
    };
    not_ready.map(|problem| format!("ClusterClass {name} is not reconciled: {problem}"))
}
