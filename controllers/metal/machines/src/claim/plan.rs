//! The plan of a HostClaim: those of Metal3's baremetal-operator 0.14, with the differences that are said where they are. Pure.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::object::{is_deleting, uid};
use engine::{Action, NamespacedName, conditions, finalizer, paused};
use k8s_openapi::api::core::v1::Secret;
use metal::state::HostState;
use schemas::infrastructure::{HostSelector, HostSelectorRequirement};
use schemas::metal3::{BareMetalHost, HostClaim, HostClaimSelector, SecretReference};

use super::observed::Observed;
use super::policy::place_of;
use super::secrets::{Copy, Role, copy};
use super::{host, status};
use crate::choice::{Choice, Wish, choose, count};
use crate::consumer::ConsumerKind;
use crate::limits::LOOK_AGAIN;
use crate::names::{CLAIM_FINALIZER, PAUSED_BY_CLAIM};
use status::{ASSOCIATED, MISSING, NOT_SYNCHRONIZED, SYNCHRONIZED, no_host};

/// The steps for a HostClaim, and its wanted state.
#[derive(Debug)]
pub struct Plan {
    /// The wanted HostClaim.
    pub wanted: HostClaim,
    /// The hosts to claim: the first one that nobody else claims at the same time.
    pub candidates: Vec<Arc<BareMetalHost>>,
    /// The copies to write, before the host.
    pub copies: Vec<Copy>,
    /// The wanted state of the host.
    pub host: Option<BareMetalHost>,
    /// The copies to delete, after the host no longer refers to them.
    pub discarded: Vec<Arc<Secret>>,
    /// When to reconcile again.
    pub action: Action,
}

/// Makes the plan.
pub fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
    let mut wanted = observed.object.as_ref().clone();
    paused::set(&mut wanted, None, now);
    let mut plan = Plan {
        wanted,
        candidates: Vec::new(),
        copies: Vec::new(),
        host: None,
        discarded: Vec::new(),
        action: Action::done(),
    };
    match &observed.host {
        own if is_deleting(observed.object.as_ref()) => delete(observed, own.as_deref(), &mut plan, now),
        Some(host) => follow(observed, host, &mut plan, now),
        None => {
            plan.discarded.clone_from(&observed.copies);
            associate(observed, &mut plan, now);
        }
    }
    plan.host = plan.host.filter(|host| observed.host.as_deref() != Some(host));
    status::complete(&mut plan.wanted, &observed.object, now);
    plan
}

/// Chooses hosts for a claim that has none.
fn associate(observed: &Observed, plan: &mut Plan, now: DateTime<Utc>) {
    status::hide(&mut plan.wanted);
    if status::is_lost(&observed.object) {
        let message = "the BareMetalHost that ran the image of this claim does not exist any more, or was given to somebody else; \
                       delete the HostClaim to replace it";
        return conditions::set(&mut plan.wanted, now, no_host(MISSING, message));
    }
    let message = match candidates(observed) {
        Ok(candidates) => {
            plan.candidates = candidates;
            return;
        }
        Err(message) => message,
    };
    plan.action = Action::requeue_after(LOOK_AGAIN);
    conditions::set(&mut plan.wanted, now, no_host("NoBareMetalHost", message));
}

/// Returns the hosts that fit, the best one first, or why there is none. Names and errors of hosts are not in the message, since the
/// hosts may be those of somebody else.
fn candidates(observed: &Observed) -> Result<Vec<Arc<BareMetalHost>>, String> {
    let spec = &observed.object.spec;
    if observed.namespaces.is_empty() {
        let own = &observed.name.namespace;
        return Err(match place_of(&observed.object) {
            Some(place) => {
                format!("no HostDeployPolicy in namespace {place} allows the HostClaims of namespace {own}")
            }
            None => format!("no HostDeployPolicy in any namespace allows the HostClaims of namespace {own}"),
        });
    }
    let selector = spec.host_selector.as_ref().map(selector);
    let wish = Wish {
        kind: ConsumerKind::Claim,
        name: &observed.name,
        uid: uid(observed.object.as_ref()),
        selector: selector.as_ref(),
        failure_domain: spec.failure_domain.as_deref(),
        reuse: None,
    };
    match choose(&observed.hosts, wish) {
        Choice::Own(host) => Ok(vec![host]),
        Choice::Fitting { hosts, .. } => Ok(hosts),
        Choice::WaitsForReuse(misfits) | Choice::None(misfits) => {
            Err(format!("no host fits: {}", count(&misfits)))
        }
    }
}

/// Returns the selector in the form of Metal3Machines.
fn selector(selector: &HostClaimSelector) -> HostSelector {
    let expressions = selector.match_expressions.iter().cloned();
    HostSelector {
        match_labels: selector.match_labels.clone(),
        match_expressions: expressions
            .map(|requirement| HostSelectorRequirement {
                key: requirement.key,
                operator: requirement.operator,
                values: requirement.values,
            })
            .collect(),
    }
}

/// Makes the host what the claim says.
fn follow(observed: &Observed, read: &BareMetalHost, plan: &mut Plan, now: DateTime<Utc>) {
    status::show(&mut plan.wanted, read, now);
    conditions::set(&mut plan.wanted, now, conditions::is_true(ASSOCIATED, "BareMetalHostAssociated"));
    let mut wanted = read.clone();
    crate::host::unpause(&mut wanted, PAUSED_BY_CLAIM);
    let synchronized = match secrets(observed, &mut wanted, plan) {
        Ok(()) => {
            let passed = host::pass_reboots(&mut wanted, &mut plan.wanted);
            let deployed = host::deploy(&mut wanted, &observed.object);
            deployed.and(passed).map_err(|message| (NOT_SYNCHRONIZED, message))
        }
        // Without its Secrets, the host gets nothing else of the claim, least of all its image.
        Err(problem) => Err(problem),
    };
    plan.host = Some(wanted);
    let condition = match synchronized {
        Ok(()) => conditions::is_true(SYNCHRONIZED, "ConfigurationSynced"),
        Err((reason, message)) => conditions::is_false(SYNCHRONIZED, reason, message),
    };
    conditions::set(&mut plan.wanted, now, condition);
}

/// Writes the references to the Secrets into the host. If the host is in another namespace, they refer to copies.
///
/// # Errors
/// Reason and message of the condition: a Secret cannot be used. The host keeps all its references then.
fn secrets(
    observed: &Observed,
    host: &mut BareMetalHost,
    plan: &mut Plan,
) -> Result<(), (&'static str, String)> {
    let name = NamespacedName::of(host);
    let is_beside = name.namespace == observed.name.namespace;
    let copied =
        observed.sources.iter().filter(|_| !is_beside).map(|source| {
            copy(source, &observed.name, host).map_err(|message| (source.role.reason(), message))
        });
    let copies: Vec<Copy> = copied.collect::<Result<_, _>>()?;
    for role in Role::ALL {
        let source = observed.sources.iter().find(|source| source.role == role);
        let secret = source.map(|source| if is_beside { source.name.clone() } else { role.copy_name(&name) });
        *role.field(&mut host.spec) = secret
            .map(|secret| SecretReference { name: Some(secret.name), namespace: Some(secret.namespace) });
    }
    let is_kept = |secret: &Arc<Secret>| {
        copies.iter().any(|copy| NamespacedName::of(&copy.wanted) == NamespacedName::of(secret.as_ref()))
    };
    plan.discarded = observed.copies.iter().filter(|secret| !is_kept(secret)).cloned().collect();
    plan.copies = copies;
    Ok(())
}

/// Plans the deletion: the host is deprovisioned and cleaned, and then released. The finalizer goes with the last step, so each step is
/// repeated until its effect is observed.
fn delete(observed: &Observed, read: Option<&BareMetalHost>, plan: &mut Plan, now: DateTime<Utc>) {
    plan.discarded.clone_from(&observed.copies);
    let Some(read) = read else {
        finalizer::remove(&mut plan.wanted, CLAIM_FINALIZER);
        return;
    };
    status::show(&mut plan.wanted, read, now);
    let mut wanted = read.clone();
    host::empty(&mut wanted);
    if wanted == *read && crate::host::is_empty(read) {
        crate::host::release(&mut wanted, None);
        finalizer::remove(&mut plan.wanted, CLAIM_FINALIZER);
    } else {
        let state = HostState::of(read).name();
        let message = format!("the BareMetalHost is being deprovisioned: it is {state}");
        conditions::set(&mut plan.wanted, now, no_host("HostClaimDeleting", message));
    }
    plan.host = Some(wanted);
}
