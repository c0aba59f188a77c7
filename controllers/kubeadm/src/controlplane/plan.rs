//! The rules of the KubeadmControlPlane controller. Pure functions.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use engine::{conditions, object};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemas::HasConditions;
use schemas::cluster::Machine;
use schemas::controlplane::KubeadmControlPlane;
use schemas::defaults::MAX_SURGE;

use super::desired::Entry;
use super::machine_conditions::{self, Blind};
use super::members::{self, Mismatch};
use super::observed::{ControlPlaneMachine, Kubeconfig, Observed, Template};
use super::preflight::{self, Preflight};
use super::removal::{forward_leadership, has_hook, terminate, terminate_blindly, unexpected_member};
use super::{addons, authorities, choose, status, up_to_date};
use crate::certificates::Purpose;
use crate::names::{self, condition};

/// Interval between checks of state that changes without an event: etcd's members, a control plane that is
/// not initialised yet.
const LOOK_AGAIN: Duration = Duration::from_secs(20);

/// One step of a plan.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Make the Cluster an owner of the infrastructure template.
    OwnTemplate,
    /// Create the missing Secrets.
    MakeCertificates(Vec<Purpose>),
    /// Take control of the Secrets that another controller created for this control plane.
    OwnSecrets(Vec<Purpose>),
    /// Create or reissue the kubeconfig.
    MakeKubeconfig,
    /// Take control of the kubeconfig Secret.
    OwnKubeconfig,
    /// Update labels, annotations, readiness gates, time-outs and taints of the Machines in place.
    SyncMachines,
    /// Prepare the workload cluster for Nodes of the new version: RBAC, kubeadm's configuration.
    PrepareUpgrade,
    /// Delete the KubeadmConfigs and the infrastructure objects of these names, which have no Machine.
    DeleteLeftovers(Vec<String>),
    /// Create a Machine in this failure domain.
    CreateMachine(Entry, Option<String>),
    /// Delete the Machine of this name.
    DeleteMachine(String),
    /// Move etcd's leadership from the Node `from` to the member `to`.
    MoveLeader {
        /// Name of the Node whose member leads.
        from: String,
        /// ID of the member that is to lead.
        to: u64,
    },
    /// Remove the member with this ID from etcd.
    RemoveMember(u64),
    /// Remove the pre-terminate hook of the Machine of this name, so that it is terminated.
    RemoveHook(String),
    /// Change kube-proxy or CoreDNS, which differ from the spec.
    ChangeAddon(addons::Change),
    /// Read when the certificates of these Machines expire.
    ReadCertificateExpiry(Vec<String>),
    /// Remove the finalizer of the control plane.
    RemoveFinalizer,
}

/// The changes that a control plane needs.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The Machines with their new conditions, in the order of [`Observed::machines`].
    pub machines: Vec<Machine>,
    /// The control plane with its new status.
    pub control_plane: KubeadmControlPlane,
    /// The steps in order; the first failure ends the reconcile.
    pub steps: Vec<Step>,
    /// Event message that says why scaling or a deletion waits.
    pub event: Option<String>,
    /// When to reconcile again without an event.
    pub requeue: Option<Duration>,
}

/// The observed state and the conditions computed from it.
pub(super) struct Situation<'a> {
    /// The observed state.
    pub observed: &'a Observed,
    /// The Machines with their new conditions.
    pub machines: Vec<Machine>,
    outdated: BTreeMap<String, Vec<String>>,
    blind: Option<Blind>,
    mismatch: Mismatch,
}

/// The decision about scaling and deletion.
#[derive(Default)]
pub(super) struct Decision {
    /// The steps to execute.
    pub steps: Vec<Step>,
    preflight: Option<Preflight>,
    deleting: Option<(&'static str, String)>,
    /// Message that says why the deletion of a Machine waits.
    waits: Option<String>,
}

impl Decision {
    /// Returns a decision without steps, with the reason why a Machine's deletion waits.
    pub fn waiting(why: String) -> Self {
        Self { waits: Some(why), ..Self::default() }
    }

    /// Returns a decision with steps only.
    pub fn steps(steps: Vec<Step>) -> Self {
        Self { steps, ..Self::default() }
    }
}

/// Computes the plan. Pure function.
pub fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
    let situation = situation(observed, now);
    let decision = if object::is_deleting(observed.control_plane.as_ref()) {
        delete(&situation)
    } else {
        normal(&situation, now)
    };
    let mut control_plane = observed.control_plane.as_ref().clone();
    engine::paused::set(&mut control_plane, Some(&observed.cluster), now);
    status::write(
        &mut control_plane,
        &status::Inputs {
            observed,
            machines: &situation.machines,
            outdated: &situation.outdated,
            blind: situation.blind.as_ref(),
            mismatch: &situation.mismatch,
            preflight: decision.preflight.as_ref(),
            deleting: decision.deleting,
            now,
        },
    );
    control_plane.status.get_or_insert_default().observed_generation =
        observed.control_plane.metadata.generation;
    Plan {
        requeue: requeue(observed, &control_plane, now),
        event: decision.waits.or_else(|| decision.preflight.as_ref().and_then(Preflight::event)),
        machines: situation.machines,
        control_plane,
        steps: decision.steps,
    }
}

fn situation(observed: &Observed, now: DateTime<Utc>) -> Situation<'_> {
    let blind = machine_conditions::blind(observed, now);
    let mut outdated = BTreeMap::new();
    let mut machines = Vec::new();
    for member in &observed.machines {
        let reasons = up_to_date::reasons(observed, member, now);
        let mut machine = member.machine.as_ref().clone();
        conditions::set(&mut machine, now, up_to_date::condition(&reasons));
        for condition in machine_conditions::of_machine(observed, member, blind.as_ref()) {
            conditions::set(&mut machine, now, condition);
        }
        if !reasons.is_empty() {
            outdated.insert(member.name().to_owned(), reasons);
        }
        machines.push(machine);
    }
    Situation { mismatch: members::compare(observed, now), observed, machines, outdated, blind }
}

fn requeue(observed: &Observed, control_plane: &KubeadmControlPlane, now: DateTime<Utc>) -> Option<Duration> {
    let unwell = |type_: &str| control_plane.condition(type_).is_some_and(|found| found.status != "True");
    if observed.template == Template::Missing && observed.desired_replicas() > 0 {
        // The template's kind may not be installed, and a kind that is not installed has no events.
        return Some(LOOK_AGAIN);
    }
    if observed.machines.is_empty() || !authorities::certificates_complete(observed) {
        return None;
    }
    if !observed.is_initialized()
        || unwell(condition::COMPONENTS_HEALTHY)
        || unwell(condition::ETCD_CLUSTER_HEALTHY)
    {
        return Some(LOOK_AGAIN);
    }
    match observed.kubeconfig {
        Kubeconfig::Ours(expires) => {
            let due = expires - chrono::Duration::days(authorities::RENEW_KUBECONFIG_DAYS);
            (due - now).to_std().ok()
        }
        _ => None,
    }
}

fn normal(situation: &Situation<'_>, now: DateTime<Utc>) -> Decision {
    let observed = situation.observed;
    let mut first = Vec::new();
    if observed.template == Template::Unowned {
        first.push(Step::OwnTemplate);
    }
    if !crate::config::plan::infrastructure_provisioned(&observed.cluster) {
        return Decision::steps(first);
    }
    let foreign: Vec<Purpose> =
        observed.secrets.iter().filter(|(_, owned)| !**owned).map(|(purpose, _)| *purpose).collect();
    if !foreign.is_empty() {
        first.push(Step::OwnSecrets(foreign));
    }
    let missing = authorities::missing_certificates(observed);
    if !missing.is_empty() {
        // Once the control plane is initialised, new certificates would not match it.
        if !observed.was_initialized() && authorities::missing_given_certificates(observed).is_empty() {
            first.push(Step::MakeCertificates(missing));
        }
        return Decision::steps(first);
    }
    if !observed.has_endpoint() {
        return Decision::steps(first);
    }
    if !authorities::trouble(observed).is_empty() {
        // The condition says what the user has to do; the change of a Secret is an event.
        return Decision::steps(first);
    }
    first.extend(kubeconfig(observed, now));
    if observed.is_mixed() {
        // These Machines must be adopted first; otherwise etcd's members would be counted wrong.
        return Decision::steps(first);
    }
    if !observed.leftovers.is_empty() {
        first.push(Step::DeleteLeftovers(observed.leftovers.clone()));
    }
    first.push(Step::SyncMachines);
    let mut decision = machines(situation);
    first.append(&mut decision.steps);
    decision.steps = first;
    decision
}

fn kubeconfig(observed: &Observed, now: DateTime<Utc>) -> Option<Step> {
    match observed.kubeconfig {
        Kubeconfig::Missing => Some(Step::MakeKubeconfig),
        Kubeconfig::Unowned => Some(Step::OwnKubeconfig),
        Kubeconfig::Ours(expires) => {
            let can_renew = !observed.keyless.contains(&Purpose::ClusterAuthority);
            (can_renew && authorities::is_renewal_due(expires, now)).then_some(Step::MakeKubeconfig)
        }
        Kubeconfig::Given => None,
    }
}

fn machines(situation: &Situation<'_>) -> Decision {
    let observed = situation.observed;
    if observed.machines.is_empty() {
        if observed.desired_replicas() == 0 || observed.template == Template::Missing {
            return Decision::default();
        }
        let domain = choose::domain_to_scale_up(observed, &[]);
        return Decision::steps(vec![Step::CreateMachine(Entry::Init, domain)]);
    }
    // All further decisions need the current state of the workload cluster.
    if situation.blind.is_some() || observed.workload.is_none() {
        let checks = || Decision { preflight: first_checks(situation), ..Decision::default() };
        return terminate_blindly(observed).unwrap_or_else(checks);
    }
    if let Some(step) = unexpected_member(situation) {
        return Decision::steps(vec![step]);
    }
    if let Some(decision) = terminate(situation) {
        return decision;
    }
    if observed.machines.len() > observed.desired_replicas()
        && observed.machines.iter().any(ControlPlaneMachine::is_deleting)
    {
        // One Machine at a time: the deletion of the current one is an event.
        return Decision::default();
    }
    let outdated = outdated(situation);
    let (current, desired) = (observed.machines.len(), observed.desired_replicas());
    if !outdated.is_empty() {
        let limit = desired + max_surge(&observed.control_plane);
        return if current < limit { scale_up(situation, true) } else { scale_down(situation, &outdated) };
    }
    match current.cmp(&desired) {
        std::cmp::Ordering::Less => scale_up(situation, false),
        std::cmp::Ordering::Greater => scale_down(situation, &outdated),
        std::cmp::Ordering::Equal => Decision::steps(settled(observed)),
    }
}

/// Returns the preflight checks of a scaling that has to wait, for the conditions.
fn first_checks(situation: &Situation<'_>) -> Option<Preflight> {
    let (current, desired) = (situation.machines.len(), situation.observed.desired_replicas());
    (current != desired && current > 0)
        .then(|| preflight::check(situation.observed, &situation.machines, current < desired, None))
}

/// Returns the names of outdated Machines that are not being deleted yet.
fn outdated<'a>(situation: &Situation<'a>) -> Vec<&'a str> {
    let present = situation.observed.machines.iter().filter(|member| !member.is_deleting());
    present.map(ControlPlaneMachine::name).filter(|name| situation.outdated.contains_key(*name)).collect()
}

/// Returns the number of Machines above `replicas` that may exist during a rollout.
fn max_surge(control_plane: &KubeadmControlPlane) -> usize {
    let rollout = control_plane.spec.rollout.as_ref();
    let strategy = rollout.and_then(|rollout| rollout.strategy.as_ref());
    let surge = strategy
        .and_then(|strategy| strategy.rolling_update.as_ref())
        .and_then(|update| update.max_surge.as_ref());
    // Admission lets nothing through but 0 and 1.
    let most = usize::try_from(MAX_SURGE).unwrap_or_default();
    match surge {
        Some(IntOrString::Int(0)) => 0,
        Some(IntOrString::String(text)) if text == "0" => 0,
        _ => most,
    }
}

fn scale_up(situation: &Situation<'_>, replaces: bool) -> Decision {
    let observed = situation.observed;
    let checks = preflight::check(observed, &situation.machines, true, None);
    if !checks.passed() || observed.template == Template::Missing {
        return Decision { preflight: Some(checks), ..Decision::default() };
    }
    let current: Vec<&str> = observed
        .machines
        .iter()
        .map(ControlPlaneMachine::name)
        .filter(|name| !situation.outdated.contains_key(*name))
        .collect();
    let mut steps = Vec::new();
    if replaces {
        steps.push(Step::PrepareUpgrade);
    }
    steps.push(Step::CreateMachine(Entry::Join, choose::domain_to_scale_up(observed, &current)));
    Decision::steps(steps)
}

fn scale_down(situation: &Situation<'_>, outdated: &[&str]) -> Decision {
    let observed = situation.observed;
    let victim = choose::machine_to_scale_down(observed, outdated);
    let checks =
        preflight::check(observed, &situation.machines, false, victim.map(ControlPlaneMachine::name));
    let (Some(victim), true) = (victim, checks.passed()) else {
        return Decision { preflight: Some(checks), ..Decision::default() };
    };
    let mut steps = Vec::new();
    if !outdated.is_empty() {
        steps.push(Step::PrepareUpgrade);
    }
    steps.extend(forward_leadership(observed, victim));
    steps.push(Step::DeleteMachine(victim.name().to_owned()));
    Decision::steps(steps)
}

/// Returns the steps when nothing needs scaling or replacement: update the add-ons, read missing certificate
/// expiries.
fn settled(observed: &Observed) -> Vec<Step> {
    let addons = observed.workload.as_ref().map(|view| addons::plan(&view.addons, &observed.control_plane));
    let changes = addons.map(|decision| decision.changes).unwrap_or_default();
    let mut steps: Vec<Step> = changes.into_iter().map(Step::ChangeAddon).collect();
    let unknown: Vec<String> = observed
        .machines
        .iter()
        .filter(|member| member.node().is_some() && !member.is_deleting())
        .filter(|member| {
            member.config.as_ref().is_some_and(|config| {
                object::annotation(config.as_ref(), names::CERTIFICATES_EXPIRY).is_none()
            })
        })
        .map(|member| member.name().to_owned())
        .collect();
    if !unknown.is_empty() {
        steps.push(Step::ReadCertificateExpiry(unknown));
    }
    steps
}

fn delete(situation: &Situation<'_>) -> Decision {
    let observed = situation.observed;
    if !observed.workers.is_empty() {
        let text = format!(
            "KubeadmControlPlane deletion blocked because there are still other Machines and MachinePools: {}",
            short(&observed.workers)
        );
        return Decision { deleting: Some(("WaitingForWorkersDeletion", text)), ..Decision::default() };
    }
    if observed.machines.is_empty() {
        let deleting = Some(("DeletionCompleted", "Deletion completed".to_owned()));
        return Decision { deleting, ..Decision::steps(vec![Step::RemoveFinalizer]) };
    }
    let mut steps = Vec::new();
    for member in &observed.machines {
        if has_hook(member) {
            steps.push(Step::RemoveHook(member.name().to_owned()));
        }
        if !member.is_deleting() {
            steps.push(Step::DeleteMachine(member.name().to_owned()));
        }
    }
    let count = observed.machines.len();
    let noun = if count == 1 { "Machine" } else { "Machines" };
    let deleting = Some(("WaitingForMachineDeletion", format!("Deleting {count} {noun}")));
    Decision { deleting, ..Decision::steps(steps) }
}

fn short(names: &[String]) -> String {
    match names {
        [first, second, third, rest @ ..] if !rest.is_empty() => {
            format!("{first}, {second}, {third}, ... ({} more)", rest.len())
        }
        _ => names.join(", "),
    }
}
