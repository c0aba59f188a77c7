//! What is to be done for an object: all rules, without any effect.

use clusterctl::inventory::{CONTRACT, Installed};
use clusterctl::version;
use engine::conditions::{is_false, new};
use schemas::meta::Condition;

use crate::conditions::{CHECKED, IN_PROCESS, INSTALLED, PREFLIGHT, READY};
use crate::health;
use crate::observe::Observed;
use crate::preflight;

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Nothing.
    Rest,
    /// The provider, whose controllers run in this process, gets its entry in the inventory.
    Record(Installed),
    /// The provider that somebody else has installed becomes the object's. Nothing is installed yet.
    Adopt(Installed),
    /// The components are created, or updated after a change of what they are made of.
    Install {
        /// Whether nothing of the provider is there.
        is_first: bool,
    },
    /// The installed version is replaced by another one.
    Upgrade(Installed),
    /// The components are deleted, if they are the object's, and then the object goes.
    Remove(Option<Installed>),
}

/// A step, and what is reported before or without it.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What is to be done.
    pub step: Step,
    /// The conditions that are known without the step.
    pub conditions: Vec<Condition>,
    /// The version to report, if it is known without the step.
    pub installed_version: Option<String>,
    /// The contract to report, if it is known without the step.
    pub contract: Option<String>,
    /// Whether what the object wants is there.
    pub is_settled: bool,
    /// Whether an upgrade that failed is wanted no more.
    pub forgets_failure: bool,
}

impl Plan {
    fn new(step: Step, conditions: Vec<Condition>) -> Self {
        Self {
            step,
            conditions,
            installed_version: None,
            contract: None,
            is_settled: false,
            forgets_failure: false,
        }
    }
}

/// Computes the plan.
pub fn plan(seen: &Observed) -> Plan {
    if seen.object.is_deleting {
        return Plan::new(Step::Remove(components(seen)), Vec::new());
    }
    if let Err(refusal) = preflight::check(seen) {
        let ready = blocked(seen, &refusal);
        return Plan::new(Step::Rest, [vec![*refusal], ready].concat());
    }
    let passed = new(PREFLIGHT, "True", CHECKED, "");
    if let Some(built_in) = &seen.in_process {
        return in_process(seen, built_in, passed);
    }
    let object = &seen.object;
    let Some(entry) = seen.entry() else {
        return Plan::new(Step::Install { is_first: true }, vec![passed]);
    };
    if let Some(old) = interrupted(seen, entry) {
        return Plan::new(Step::Upgrade(old), vec![passed, health::ready(&seen.deployments)]);
    }
    let is_own = object.status.installed_version.as_deref() == Some(entry.version.as_str());
    if !is_own {
        let mut plan = Plan::new(Step::Adopt(entry.clone()), vec![passed, health::ready(&seen.deployments)]);
        plan.installed_version = Some(entry.version.clone());
        return plan;
    }
    let ready = health::ready(&seen.deployments);
    let is_other = object.version().is_some_and(|wanted| !is_same(wanted, &entry.version));
    if is_other && object.failed.as_ref() != Some(&seen.digest) {
        return Plan::new(Step::Upgrade(entry.clone()), vec![passed, ready]);
    }
    if !is_other && !is_applied(seen) {
        return Plan::new(Step::Install { is_first: false }, vec![passed, ready]);
    }
    let mut plan = Plan::new(Step::Rest, vec![passed, ready]);
    plan.is_settled = !is_other;
    // Wanted again, it is tried again.
    plan.forgets_failure = !is_other && object.failed.is_some();
    plan
}

/// The version before an upgrade that was interrupted when all of the new version was written, but nobody had seen yet whether it runs.
fn interrupted(seen: &Observed, entry: &Installed) -> Option<Installed> {
    let object = &seen.object;
    let old = object.status.installed_version.clone()?;
    let is_new =
        old != entry.version && object.version().is_some_and(|wanted| is_same(wanted, &entry.version));
    let is_meant = is_new && object.was_interrupted() && object.failed.as_ref() != Some(&seen.digest);
    is_meant.then(|| Installed { version: old, ..entry.clone() })
}

/// What the removal of the object deletes; `None` if nothing is the object's.
fn components(seen: &Observed) -> Option<Installed> {
    let object = &seen.object;
    if seen.in_process.is_some() || !object.has_components() {
        return None;
    }
    let version = seen.entry().map(|entry| entry.version.clone());
    Some(Installed {
        name: object.provider.name.clone(),
        type_name: object.provider.type_name().to_owned(),
        version: version.or_else(|| object.status.installed_version.clone()).unwrap_or_default(),
        namespace: object.namespace.clone(),
    })
}

/// The condition `Ready` while a check does not pass: a provider that was installed before runs nevertheless.
fn blocked(seen: &Observed, refusal: &Condition) -> Vec<Condition> {
    let runs = seen.object.status.installed_version.is_some();
    let ready = match runs && seen.in_process.is_none() {
        true => health::ready(&seen.deployments),
        false => is_false(READY, &refusal.reason, refusal.message.clone()),
    };
    vec![ready]
}

/// The controllers of the provider run already.
fn in_process(seen: &Observed, built_in: &Installed, passed: Condition) -> Plan {
    let entry = seen.entry();
    let running = Some(entry.unwrap_or(built_in).version.clone());
    let mut message = "the controllers run in the process of this server".to_owned();
    if let (Some(wanted), Some(running)) = (seen.object.version(), &running)
        && !is_same(wanted, running)
    {
        message.push_str(&format!(
            " in version {running} instead of {wanted}; the server's flag --controllers chooses what runs"
        ));
    }
    let step = if entry.is_some() { Step::Rest } else { Step::Record(built_in.clone()) };
    let mut plan = Plan::new(
        step,
        vec![passed, new(INSTALLED, "True", IN_PROCESS, message), new(READY, "True", IN_PROCESS, "")],
    );
    plan.installed_version = running;
    plan.contract = Some(CONTRACT.to_owned());
    plan.is_settled = true;
    plan
}

/// Whether the installed components are those that the object describes, and nobody has changed a Deployment since.
fn is_applied(seen: &Observed) -> bool {
    let object = &seen.object;
    let deployments = health::generations(&seen.deployments);
    object.applied.as_ref() == Some(&seen.digest)
        && object.deployments.as_ref().is_none_or(|recorded| *recorded == deployments)
}

/// Whether two texts are one version, with or without `v`.
fn is_same(a: &str, b: &str) -> bool {
    a == b || version::parse(a).is_some_and(|parsed| Some(parsed) == version::parse(b))
}
