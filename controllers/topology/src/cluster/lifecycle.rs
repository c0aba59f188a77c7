//! The hooks in the life of a Cluster, and the extension that plans upgrades.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use engine::{Error, NamespacedName, Result};
use schemas::HasConditions;
use schemas::cluster::{Cluster, UpgradePlanStep};
use schemas::version::Version;
use serde_json::{Value, json};

use super::blocked::Blocked;
use super::hooks;
use super::observe::{Observed, TopologyController};
use super::plan::{self, Decision};
use crate::extensions::Hook;
use crate::versions::{Answer, Facts, Hooks, Question, UpgradePlan};

impl TopologyController {
    /// Calls the hook that the choice of versions asks for.
    pub(super) async fn ask(
        &self,
        observed: &Observed,
        upgrade: &UpgradePlan,
        question: &Question,
    ) -> Result<Answer> {
        let hook = lifecycle_hook(question.hook);
        let mut fields = upgrade_fields(upgrade);
        if question.hook.name().starts_with("After") {
            fields["kubernetesVersion"] = question.to.as_str().into();
        } else {
            fields["fromKubernetesVersion"] = question.from.as_str().into();
            fields["toKubernetesVersion"] = question.to.as_str().into();
        }
        let mut cluster = observed.current.cluster.as_ref().clone();
        // The extension sees which hooks are pending after the answers of those before it.
        if let Some(latest) = self.clusters.get(&NamespacedName::of(&cluster)) {
            cluster.metadata = latest.metadata.clone();
        }
        let blocked = self.call_hook(&cluster, hook, fields).await?;
        Ok(blocked.map_or(Answer::Proceed, |blocked| Answer::Wait {
            message: blocked.message,
            retry_after_seconds: whole_seconds(blocked.retry_after),
        }))
    }

    /// Asks the extension of the class for the plan of an upgrade, if the class names one and there is something to upgrade.
    pub(super) async fn ask_planner(
        &self,
        observed: &Observed,
        facts: &Facts,
    ) -> Result<Option<UpgradePlan>> {
        let (Some(name), Some(control_plane)) = (plan::planner(observed), &facts.control_plane) else {
            return Ok(None);
        };
        let lowest = facts.lowest_workers.as_deref();
        let canonical = |version: &str| Version::parse(version).map(|version| version.to_string());
        let is_wanted = |version: &str| canonical(version) == canonical(&facts.wanted);
        if is_wanted(&control_plane.version) && lowest.is_none_or(is_wanted) {
            return Ok(None);
        }
        if !observed.calls_hooks {
            return Err(Error::failed(format!(
                "the class wants the extension {name} to plan upgrades, but the feature gate RuntimeSDK is off"
            )));
        }
        let namespace = observed.current.cluster.metadata.namespace.as_deref().unwrap_or_default();
        let asked = json!({
            "fromControlPlaneKubernetesVersion": control_plane.version,
            "fromWorkersKubernetesVersion": lowest.unwrap_or_default(),
            "toKubernetesVersion": facts.wanted,
        });
        let (memory, now) = (self.memory.of(&observed.current.cluster), self.manager.clock().now());
        if let Some(plan) = memory.planned(&asked, now) {
            return Ok(Some(plan));
        }
        let request = hooks::request(Hook::GenerateUpgradePlan, &observed.current.cluster, asked.clone());
        let settings = BTreeMap::new();
        let answer =
            self.extensions.call(Hook::GenerateUpgradePlan, name, namespace, &settings, request).await?;
        let steps = |field: &str| {
            let steps = answer[field].as_array().into_iter().flatten();
            steps.filter_map(|step| step["version"].as_str()).map(str::to_owned).collect()
        };
        let plan =
            UpgradePlan { control_plane: steps("controlPlaneUpgrades"), workers: steps("workersUpgrades") };
        // A plan that breaks a rule is not kept: the extension is asked again, and may know better by then.
        plan::upgrade_plan(observed, facts, Some(&plan))
            .map_err(|error| Error::failed(format!("the answer of extension {name}: {error}")))?;
        memory.set_planned(asked, plan.clone(), now);
        Ok(Some(plan))
    }

    /// Calls the hook after the control plane has answered for the first time. It holds up nothing.
    pub(super) async fn call_after_initialization(&self, cluster: &Arc<Cluster>) -> Result<()> {
        const HOOK: Hook = Hook::AfterControlPlaneInitialized;
        if !self.manager.features().runtime_sdk {
            return Ok(());
        }
        let name = NamespacedName::of(cluster.as_ref());
        if plan::is_new(cluster) {
            return self.mark_hooks(&name, &[HOOK.name()], &[]).await;
        }
        if hooks::is_pending(cluster, HOOK) && cluster.condition_is_true("ControlPlaneInitialized") {
            self.call_hook(cluster, HOOK, json!({})).await?;
            self.mark_hooks(&name, &[], &[HOOK.name()]).await?;
        }
        Ok(())
    }

    /// Calls the hook at the end of an upgrade.
    pub(super) async fn call_after_upgrade(
        &self,
        observed: &Observed,
        decision: &Decision,
        hooks: &Hooks,
    ) -> Result<Option<Blocked>> {
        const HOOK: Hook = Hook::AfterClusterUpgrade;
        if !observed.calls_hooks || !decision.versions.is_upgraded(hooks) {
            return Ok(None);
        }
        let cluster = &observed.current.cluster;
        let version = cluster.spec.topology.as_ref().map(|topology| topology.version.clone());
        let blocked = self.call_hook(cluster, HOOK, json!({"kubernetesVersion": version})).await?;
        if blocked.is_none() {
            self.mark_hooks(&NamespacedName::of(cluster.as_ref()), &[], &[HOOK.name()]).await?;
        }
        Ok(blocked)
    }
}

/// The hook of the API of extensions.
fn lifecycle_hook(hook: crate::versions::Hook) -> Hook {
    use crate::versions::Hook as Upgrade;
    match hook {
        Upgrade::AfterClusterUpgrade => Hook::AfterClusterUpgrade,
        Upgrade::AfterControlPlaneUpgrade => Hook::AfterControlPlaneUpgrade,
        Upgrade::AfterWorkersUpgrade => Hook::AfterWorkersUpgrade,
        Upgrade::BeforeClusterUpgrade => Hook::BeforeClusterUpgrade,
        Upgrade::BeforeControlPlaneUpgrade => Hook::BeforeControlPlaneUpgrade,
        Upgrade::BeforeWorkersUpgrade => Hook::BeforeWorkersUpgrade,
    }
}

/// What holds up a Cluster, as the choice of versions says it.
pub fn blocked_of(blocked: &crate::versions::Blocked) -> Blocked {
    Blocked {
        hook: blocked.hook.name().to_owned(),
        message: blocked.message.clone(),
        retry_after: Duration::from_secs(u64::from(blocked.retry_after_seconds)),
    }
}

/// The fields of a request that say what an upgrade still goes through.
fn upgrade_fields(upgrade: &UpgradePlan) -> Value {
    let steps = |versions: &[String]| -> Vec<UpgradePlanStep> {
        versions.iter().map(|version| UpgradePlanStep { version: version.clone() }).collect()
    };
    json!({"controlPlaneUpgrades": steps(&upgrade.control_plane), "workersUpgrades": steps(&upgrade.workers)})
}

/// Rounds up, so that nobody is asked too early.
fn whole_seconds(duration: Duration) -> u32 {
    let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    u32::try_from(seconds).unwrap_or(u32::MAX)
}
