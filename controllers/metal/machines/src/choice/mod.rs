//! Chooses the host of a Metal3Machine (`contract/metal3`, §2.2) or HostClaim. Pure.

pub mod explain;
mod selector;

use std::sync::Arc;

use engine::NamespacedName;
use engine::object::{annotation, is_deleting, label, uid};
use machinery::hash::fnv1a_64;
use metal::names::PAUSED;
use metal::state::HostState;
use schemas::infrastructure::HostSelector;
use schemas::metal3::BareMetalHost;

use crate::consumer::ConsumerKind;
use crate::names::{FAILURE_DOMAIN, NODE_REUSE, UNHEALTHY, UNHEALTHY_OLDER};
pub use explain::{count, explain};

/// The wishes of a Metal3Machine or HostClaim.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// The kind of the object that wants a host.
    pub kind: ConsumerKind,
    /// The name of the object.
    pub name: &'a NamespacedName,
    /// The UID of the object. It spreads machines over equal hosts.
    pub uid: &'a str,
    /// The selector of hosts.
    pub selector: Option<&'a HostSelector>,
    /// The failure domain, which is a preference.
    pub failure_domain: Option<&'a str>,
    /// The value of the label [`NODE_REUSE`] on hosts that are kept for this machine.
    pub reuse: Option<&'a str>,
}

/// The result of a choice.
#[derive(Debug, Clone)]
pub enum Choice {
    /// A host names the object as its consumer already.
    Own(Arc<BareMetalHost>),
    /// Hosts that fit, the best one first.
    Fitting {
        /// The hosts.
        hosts: Vec<Arc<BareMetalHost>>,
        /// Whether they are kept for this machine by node reuse.
        reused: bool,
    },
    /// Hosts are kept for this machine, but none is available yet. The machine waits and takes no other host.
    WaitsForReuse(Vec<(String, Misfit)>),
    /// No host fits. The name of each host, with the reason.
    None(Vec<(String, Misfit)>),
}

/// The reason for which a host does not fit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Misfit {
    /// It does not match the selector; the requirement that it does not meet.
    Selector(String),
    /// Another object uses it: kind and name.
    Used(String),
    /// It is kept for machines of another control plane or MachineDeployment.
    KeptFor(String),
    /// It is being deleted.
    Deleting,
    /// It has an error; the message.
    Error(String),
    /// It is paused.
    Paused,
    /// A remediation has given it up.
    Unhealthy,
    /// Its state is not `available`; the state.
    State(String),
}

/// Chooses among the hosts.
pub fn choose(hosts: &[Arc<BareMetalHost>], wish: Wish<'_>) -> Choice {
    let (mut plain, mut kept, mut kept_busy, mut misfits) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for host in hosts {
        let name = host.metadata.name.clone().unwrap_or_default();
        if wish.kind.uses(wish.name, host) {
            return Choice::Own(host.clone());
        }
        let is_kept = wish.reuse.is_some() && label(host.as_ref(), NODE_REUSE) == wish.reuse;
        match (misfit(host, wish), is_kept) {
            (None, true) => kept.push(host.clone()),
            (None, false) => plain.push(host.clone()),
            (Some(misfit @ Misfit::State(_)), true) => kept_busy.push((name, misfit)),
            (Some(misfit), _) => misfits.push((name, misfit)),
        }
    }
    match (kept.is_empty(), kept_busy.is_empty(), plain.is_empty()) {
        (false, ..) => Choice::Fitting { hosts: preferred(kept, wish), reused: true },
        (true, false, _) => Choice::WaitsForReuse(kept_busy),
        (true, true, false) => Choice::Fitting { hosts: preferred(plain, wish), reused: false },
        (true, true, true) => Choice::None(misfits),
    }
}

/// Returns why the host does not fit; `None` if it does.
fn misfit(host: &BareMetalHost, wish: Wish<'_>) -> Option<Misfit> {
    if let Some(requirement) = wish.selector.and_then(|selector| selector::unmet(selector, host)) {
        return Some(Misfit::Selector(requirement));
    }
    let kept_for = label(host, NODE_REUSE);
    // Metal3 1.14 keeps a host for its Cluster with a consumer reference besides the label.
    let is_kept = kept_for.is_some() && kept_for == wish.reuse;
    if let Some(consumer) = &host.spec.consumer_ref
        && !(is_kept && consumer.kind.as_deref() == Some("Cluster"))
    {
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        return Some(Misfit::Used(format!("{} {}", text(&consumer.kind), text(&consumer.name))));
    }
    if let Some(other) = kept_for.filter(|_| !is_kept) {
        return Some(Misfit::KeptFor(other.to_owned()));
    }
    if is_deleting(host) {
        return Some(Misfit::Deleting);
    }
    let error = host.status.as_ref().map(|status| status.error_message.as_str()).unwrap_or_default();
    if !error.is_empty() {
        return Some(Misfit::Error(error.to_owned()));
    }
    if annotation(host, PAUSED).is_some() {
        return Some(Misfit::Paused);
    }
    if [UNHEALTHY, UNHEALTHY_OLDER].iter().any(|key| annotation(host, key).is_some()) {
        return Some(Misfit::Unhealthy);
    }
    match HostState::of(host) {
        HostState::Available | HostState::Ready => None,
        state => Some(Misfit::State(state.name().to_owned())),
    }
}

/// Sorts fitting hosts: those in the wanted failure domain first; among equals, by a hash of machine and host, so that machines that
/// choose at the same time rarely want the same host.
fn preferred(mut hosts: Vec<Arc<BareMetalHost>>, wish: Wish<'_>) -> Vec<Arc<BareMetalHost>> {
    hosts.sort_by_cached_key(|host| {
        let in_domain =
            wish.failure_domain.is_some() && label(host.as_ref(), FAILURE_DOMAIN) == wish.failure_domain;
        let name = host.metadata.name.clone().unwrap_or_default();
        (!in_domain, fnv1a_64(format!("{}/{}", wish.uid, uid(host.as_ref())).as_bytes()), name)
    });
    hosts
}
