//! The hooks in the life of a Cluster.

use std::sync::Arc;
use std::time::Duration;

use engine::{Error, NamespacedName, Result};
use schemas::HasConditions;
use schemas::cluster::{Cluster, UpgradePlanStep};
use serde_json::{Value, json};

use super::blocked::Blocked;
use super::hooks::{self, HookCalls};
use super::observed::Observed;
use super::plan::{self, Decision};
use crate::extensions::Hook;
use crate::versions::{Answer, Facts, Hooks, Question, UpgradePlan};

/// Chooses the versions. A hook that must be called first is called, and the choice is made again with its answer.
pub async fn decide(
    calls: &HookCalls,
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
        calls.mark(&name, &begun, &names(&chosen.done)).await?;
        let Some(question) = question else { return Ok(decision) };
        if hooks.answers.contains_key(&question.hook) {
            let hook = question.hook;
            return Err(Error::failed(format!(
                "the hook {hook} was asked for twice: this is a fault of this program"
            )));
        }
        let answer = ask(calls, observed, upgrade, &question).await?;
        hooks.answers.insert(question.hook, answer);
    }
}

/// Calls the hook that the choice of versions asks for.
async fn ask(
    calls: &HookCalls,
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
    if let Some(latest) = calls.latest(&NamespacedName::of(&cluster)) {
        cluster.metadata = latest.metadata.clone();
    }
    let blocked = calls.call(&cluster, hook, fields).await?;
    Ok(blocked.map_or(Answer::Proceed, |blocked| Answer::Wait {
        message: blocked.message,
        retry_after_seconds: whole_seconds(blocked.retry_after),
    }))
}

/// Calls the hook after the control plane has answered for the first time. It holds up nothing.
pub async fn after_initialization(calls: &HookCalls, cluster: &Arc<Cluster>) -> Result<()> {
    const HOOK: Hook = Hook::AfterControlPlaneInitialized;
    if !calls.is_on() {
        return Ok(());
    }
    let name = NamespacedName::of(cluster.as_ref());
    if plan::is_new(cluster) {
        return calls.mark(&name, &[HOOK.name()], &[]).await;
    }
    if hooks::is_pending(cluster, HOOK) && cluster.condition_is_true("ControlPlaneInitialized") {
        calls.call(cluster, HOOK, json!({})).await?;
        calls.mark(&name, &[], &[HOOK.name()]).await?;
    }
    Ok(())
}

/// Calls the hook at the end of an upgrade.
pub async fn after_upgrade(
    calls: &HookCalls,
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
    let blocked = calls.call(cluster, HOOK, json!({"kubernetesVersion": version})).await?;
    if blocked.is_none() {
        calls.mark(&NamespacedName::of(cluster.as_ref()), &[], &[HOOK.name()]).await?;
    }
    Ok(blocked)
}

/// The names of hooks, as in annotations.
pub fn names(hooks: &[crate::versions::Hook]) -> Vec<&'static str> {
    hooks.iter().map(|hook| hook.name()).collect()
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
