//! The version of the control plane.

use schemas::version::Version;
use serde_json::Value;

use super::compare::{Order, compare};
use super::facts::{ControlPlaneFacts, Facts};
use super::hooks::{Answer, Blocked, Hook, Hooks, Question};
use super::plan::UpgradePlan;
use crate::object;

/// How long an upgrade waits for annotations that hold it back until it looks again. Their removal wakes it earlier.
const ANNOTATION_RETRY_SECONDS: u32 = 20 * 60;

/// The version that the control plane gets now, and what it waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ControlPlaneVersion {
    /// The version.
    pub version: String,
    /// Whether it will get another version, but not now.
    pub is_pending: bool,
    /// Whether it waits for workers that must reach its version first.
    pub is_waiting_for_workers: bool,
    /// Whether it has not been made whole yet.
    pub is_provisioning: bool,
    /// Whether it is in the middle of an upgrade.
    pub is_upgrading: bool,
    /// Whether it gets another version now.
    pub is_starting: bool,
    /// The hook that must be called before more can be decided; the choice is made again with its answer. Hooks in `done` are recorded all the same.
    pub ask: Option<Question>,
    /// What holds it back: an extension or annotations.
    pub blocked: Option<Blocked>,
    /// Hooks that have been called and are no longer pending.
    pub done: Vec<Hook>,
    /// Hooks that become pending. They are recorded before the version is written.
    pub pending: Vec<Hook>,
    /// Hooks that become pending because the control plane gets another version. They are recorded once it has it: if it is refused, there
    /// is nothing that they could come after.
    pub following: Vec<Hook>,
}

impl ControlPlaneVersion {
    /// Returns whether it has the version of the topology, and is at rest.
    pub fn is_stable(&self) -> bool {
        !self.is_pending && self.has_settled()
    }

    /// Returns whether workers can be upgraded: it is stable, or waits for just that.
    pub fn lets_workers_upgrade(&self) -> bool {
        (!self.is_pending || self.is_waiting_for_workers) && self.has_settled()
    }

    fn has_settled(&self) -> bool {
        !self.is_provisioning && !self.is_upgrading && !self.is_starting
    }
}

/// Returns whether a control plane object is made for the first time: its status has no version yet.
pub fn is_provisioning(control_plane: &Value) -> bool {
    status_versions(control_plane).first().is_none_or(|version| version.is_empty())
}

/// The versions of its machines, the lowest first; of a control plane without them, the version in its status.
fn status_versions(control_plane: &Value) -> Vec<&str> {
    let list = object::at(control_plane, &["status", "versions"]).and_then(Value::as_array);
    let versions: Vec<&str> =
        list.into_iter().flatten().map(|entry| object::text(entry, &["version"])).collect();
    if !versions.is_empty() {
        return versions;
    }
    let version = object::text(control_plane, &["status", "version"]);
    if version.is_empty() { Vec::new() } else { vec![version] }
}

/// Returns whether a control plane object has machines of an older version than it wants, or of the same with other build metadata.
///
/// # Errors
/// Says which version cannot be parsed.
pub fn is_upgrading(control_plane: &Value) -> Result<bool, String> {
    let parse = |field: &str, text: &str| {
        Version::parse(text).ok_or_else(|| {
            let object = object::described(control_plane);
            format!("{field} of {object}: {text:?} is not a semantic version")
        })
    };
    let wanted = parse("spec.version", object::text(control_plane, &["spec", "version"]))?;
    for version in status_versions(control_plane).into_iter().filter(|version| !version.is_empty()) {
        let version = parse("a version in the status", version)?;
        if matches!(compare(&wanted, &version), Order::Higher | Order::Different) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether a control plane object has not as many machines as it wants, all of them new, ready and available. One that does not say how many it wants never scales.
pub fn is_scaling(control_plane: &Value) -> bool {
    let number = |path: &[&str]| object::at(control_plane, path).and_then(Value::as_i64);
    let Some(wanted) = number(&["spec", "replicas"]) else { return false };
    let counters = ["replicas", "upToDateReplicas", "readyReplicas", "availableReplicas"];
    counters.into_iter().any(|counter| number(&["status", counter]) != Some(wanted))
}

/// Chooses the version of the control plane.
///
/// # Errors
/// A sentence: an upgrade is needed, but its plan is empty.
pub fn choose(facts: &Facts, plan: &UpgradePlan, hooks: &Hooks) -> Result<ControlPlaneVersion, String> {
    let Some(control_plane) = &facts.control_plane else {
        return Ok(ControlPlaneVersion { version: facts.wanted.clone(), ..ControlPlaneVersion::default() });
    };
    let mut chosen = ControlPlaneVersion {
        version: control_plane.version.clone(),
        is_pending: control_plane.version != facts.wanted,
        is_provisioning: control_plane.is_provisioning,
        is_upgrading: control_plane.is_upgrading && !control_plane.is_provisioning,
        ..ControlPlaneVersion::default()
    };
    if chosen.is_upgrading && hooks.are_enabled && !hooks.is_pending(Hook::AfterControlPlaneUpgrade) {
        // The process ended after the version was written, and before that was recorded.
        chosen.following = following(facts, plan, &control_plane.version);
    }
    if chosen.is_provisioning || chosen.is_upgrading {
        return Ok(chosen);
    }
    let mut turn = Turn { facts, control_plane, hooks, chosen: &mut chosen };
    if !turn.last_step_is_done(plan) || !turn.upgrade_may_begin() {
        return Ok(chosen);
    }
    let next = plan.control_plane.first();
    let next = next.ok_or_else(|| no_next(&control_plane.version, &facts.wanted))?;
    turn.start(next, plan);
    Ok(chosen)
}

/// The hooks that follow when the control plane gets this version.
fn following(facts: &Facts, plan: &UpgradePlan, version: &str) -> Vec<Hook> {
    let mut hooks = vec![Hook::AfterControlPlaneUpgrade];
    if facts.has_workers() && plan.workers.first().is_some_and(|first| first == version) {
        hooks.extend([Hook::BeforeWorkersUpgrade, Hook::AfterWorkersUpgrade]);
    }
    hooks
}

fn no_next(current: &str, wanted: &str) -> String {
    format!("the control plane has {current} and wants {wanted}, but the upgrade plan has no version for it")
}

/// One choice. Its steps are in the order in which hooks are called; each returns whether the next one may follow.
struct Turn<'a> {
    facts: &'a Facts,
    control_plane: &'a ControlPlaneFacts,
    hooks: &'a Hooks,
    chosen: &'a mut ControlPlaneVersion,
}

impl Turn<'_> {
    /// The control plane has its version. Is all done that belongs to it?
    fn last_step_is_done(&mut self, plan: &UpgradePlan) -> bool {
        let current = self.control_plane.version.clone();
        let lowest = self.facts.lowest_workers.clone().unwrap_or_default();
        if !self.finish(Hook::AfterControlPlaneUpgrade, "", &current)
            || !self.finish(Hook::BeforeWorkersUpgrade, &lowest, &current)
        {
            return false;
        }
        if self.facts.has_workers() && plan.workers.first() == Some(&current) {
            self.chosen.is_waiting_for_workers = true;
            return false;
        }
        let facts = self.facts;
        let upgrading = [&facts.upgrading_machine_deployments, &facts.upgrading_machine_pools];
        upgrading.iter().all(|names| names.is_empty()) && self.finish(Hook::AfterWorkersUpgrade, "", &current)
    }

    /// Is there something to upgrade, and does nothing hold it back? An upgrade that has begun is not asked about again.
    fn upgrade_may_begin(&mut self) -> bool {
        if !self.chosen.is_pending {
            return false;
        }
        if !self.hooks.are_enabled || self.hooks.is_pending(Hook::AfterClusterUpgrade) {
            return true;
        }
        if !self.hooks.held_by.is_empty() {
            self.chosen.blocked = Some(held(self.hooks));
            return false;
        }
        let (from, to) = (self.control_plane.version.clone(), self.facts.wanted.clone());
        if !self.ask(Hook::BeforeClusterUpgrade, &from, &to) {
            return false;
        }
        self.chosen.pending.push(Hook::AfterClusterUpgrade);
        true
    }

    /// Takes the next version, if its hook lets it.
    fn start(&mut self, next: &str, plan: &UpgradePlan) {
        if self.hooks.are_enabled {
            let from = self.control_plane.version.clone();
            if !self.ask(Hook::BeforeControlPlaneUpgrade, &from, next) {
                return;
            }
            self.chosen.following = following(self.facts, plan, next);
        }
        next.clone_into(&mut self.chosen.version);
        self.chosen.is_starting = true;
        self.chosen.is_pending = false;
    }

    /// Calls a hook that is pending; afterwards it no longer is.
    fn finish(&mut self, hook: Hook, from: &str, to: &str) -> bool {
        if !self.hooks.is_pending(hook) {
            return true;
        }
        let may_proceed = self.ask(hook, from, to);
        if may_proceed {
            self.chosen.done.push(hook);
        }
        may_proceed
    }

    /// Looks at the answer to a hook, or asks for it.
    fn ask(&mut self, hook: Hook, from: &str, to: &str) -> bool {
        match self.hooks.answers.get(&hook) {
            Some(Answer::Proceed) => return true,
            Some(Answer::Wait { message, retry_after_seconds }) => {
                let (message, retry_after_seconds) = (message.clone(), *retry_after_seconds);
                self.chosen.blocked = Some(Blocked { hook, message, retry_after_seconds });
            }
            None => {
                self.chosen.ask = Some(Question { hook, from: from.to_owned(), to: to.to_owned() });
            }
        }
        false
    }
}

/// Annotations of the Cluster hold back the upgrade.
fn held(hooks: &Hooks) -> Blocked {
    let names: Vec<&str> = hooks.held_by.iter().map(String::as_str).collect();
    let message = match names.as_slice() {
        [one] => format!("annotation {one} is set"),
        all => format!("annotations {} are set", all.join(", ")),
    };
    Blocked { hook: Hook::BeforeClusterUpgrade, message, retry_after_seconds: ANNOTATION_RETRY_SECONDS }
}
