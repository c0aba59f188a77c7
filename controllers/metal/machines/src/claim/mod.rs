//! The HostClaim controller: gives a host to a claim, also to one of another namespace if a HostDeployPolicy allows it, and makes the host
//! what the claim says (Metal3's baremetal-operator 0.14).

mod apply;
pub mod host;
mod observe;
pub mod observed;
pub mod plan;
pub mod policy;
pub mod secrets;
pub mod status;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::controller::requests_of;
use engine::{
    Change, Controller, Descriptor, Error, Frame, GroupKind, Manager, Membership, NamespacedName, Objects,
    Outcome, Planned, Request, Result, conditions,
};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use schemas::cluster::Cluster;
use schemas::metal3::{BareMetalHost, HostClaim};

use crate::consumer::ConsumerKind;
use crate::host::became_free;
use crate::names::CLAIM_FINALIZER;
use observe::{BY_CLAIM, BY_CONSUMER, BY_SECRET, HostClaimController, referenced};
use observed::Observed;
use plan::{Plan, plan};
use policy::place_of;
use secrets::copied_for;
use status::is_waiting;

/// Number of HostClaims that are reconciled at the same time.
const CONCURRENCY: usize = 32;

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor = Descriptor {
    name: "hostclaim",
    reconciles: &[GroupKind::new(HostClaim::GROUP, HostClaim::KIND)],
    start: |manager, ()| start(manager),
};

/// Starts the HostClaim controller.
fn start(manager: &Manager) {
    let controller = HostClaimController {
        objects: manager.objects(),
        hosts: manager.objects(),
        policies: manager.objects(),
        namespaces: manager.objects(),
        secrets: manager.objects(),
        claiming: Default::default(),
        recorder: manager.recorder("hostclaim-controller"),
        manager: manager.clone(),
    };
    let texts = |names: Option<NamespacedName>| names.iter().map(ToString::to_string).collect();
    controller.hosts.index(BY_CONSUMER, move |host| texts(ConsumerKind::Claim.of(host)));
    controller.secrets.index(BY_CLAIM, move |secret| texts(copied_for(secret)));
    controller
        .objects
        .index(BY_SECRET, |claim| referenced(claim).map(|(_, secret)| secret.to_string()).collect());
    let [of_host, of_policy, of_namespace, of_secret] = [(); 4].map(|()| controller.objects.clone());
    Controller::new(manager, CONTROLLER.name)
        .concurrency(CONCURRENCY)
        .reconciles(&controller.objects)
        .watches(&controller.hosts, move |change| self::of_host(change, &of_host))
        .watches(&controller.policies, move |change| waiting(of_policy.all(), Some(&change.name().namespace)))
        .watches(&controller.namespaces, move |change| self::of_namespace(change, &of_namespace))
        .watches(&controller.secrets, move |change| self::of_secret(change, &of_secret))
        .start(Frame::new(controller));
}

/// Returns the requests of those claims that wait for a host; with `place`, of those that may get one of this namespace.
pub fn waiting(mut claims: Vec<Arc<HostClaim>>, place: Option<&str>) -> Vec<Request> {
    let may_be_there = |claim: &HostClaim| match (place, place_of(claim)) {
        (Some(place), Some(wanted)) => place == wanted,
        _ => true,
    };
    claims.retain(|claim| is_waiting(claim) && may_be_there(claim));
    requests_of(&claims)
}

/// Requests the consumer of a host. A host that became available is news for the claims that wait for one and may have it.
fn of_host(change: &Change<BareMetalHost>, claims: &Objects<HostClaim>) -> Vec<Request> {
    let mut requests: Vec<Request> =
        change.objects().filter_map(|host| ConsumerKind::Claim.of(host)).collect();
    if became_free(change) {
        requests.extend(waiting(claims.all(), Some(&change.name().namespace)));
    }
    requests.dedup();
    requests
}

/// Requests the claims of a namespace whose labels changed, by which policies allow them.
fn of_namespace(change: &Change<Namespace>, claims: &Objects<HostClaim>) -> Vec<Request> {
    let labels = |namespace: &Arc<Namespace>| namespace.metadata.labels.clone();
    if change.old.as_ref().map(labels) == change.new.as_ref().map(labels) {
        return Vec::new();
    }
    waiting(claims.in_namespace(&change.name().name), None)
}

/// Requests the claims that refer to a Secret, and the claim for which it was copied.
fn of_secret(change: &Change<Secret>, claims: &Objects<HostClaim>) -> Vec<Request> {
    let mut requests = requests_of(&claims.by_index(BY_SECRET, &change.name().to_string()));
    requests.extend(change.objects().filter_map(|secret| copied_for(secret)));
    requests
}

impl Planned for HostClaimController {
    type Object = HostClaim;
    type Observed = Observed;
    type Plan = Plan;

    const FINALIZER: Option<&'static str> = Some(CLAIM_FINALIZER);
    const OWNED: &'static [&'static str] = status::OWNED;

    fn objects(&self) -> &Objects<HostClaim> {
        &self.objects
    }

    fn manager(&self) -> &Manager {
        &self.manager
    }

    fn cluster(&self, _: &Arc<HostClaim>) -> Membership {
        Membership::None
    }

    async fn while_paused(&self, wanted: &mut HostClaim, _: Option<&Arc<Cluster>>) -> Result<()> {
        self.pause_host(wanted).await
    }

    async fn observe(&self, object: Arc<HostClaim>, _: Option<Arc<Cluster>>) -> Result<Option<Observed>> {
        Ok(Some(self.read(object)))
    }

    fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
        plan(observed, now)
    }

    async fn apply(&self, observed: &Observed, plan: Plan) -> Outcome<HostClaim> {
        self.execute(observed, plan).await
    }

    fn report(object: &mut HostClaim, errors: &[&Error], now: DateTime<Utc>) {
        let text = Error::joined(errors);
        let has_host = object.status.as_ref().is_some_and(|status| status.bare_metal_host.is_some());
        let condition = match has_host {
            true => conditions::is_false(status::SYNCHRONIZED, status::NOT_SYNCHRONIZED, text.as_str()),
            false => status::no_host("NoBareMetalHost", text.as_str()),
        };
        conditions::set(object, now, condition);
        conditions::set(object, now, conditions::is_false("Ready", "NotReady", text));
    }
}
