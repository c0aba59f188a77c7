//! Starts the controller, and finds the Metal3Data that an event is about.

use engine::controller::{owner_requests, requests_of};
use engine::{Change, Controller, Kind, Manager, NamespacedName, Objects, Request};
use schemas::infrastructure::{Metal3Data, Metal3DataClaim, Metal3Machine};
use schemas::metal3::BareMetalHost;

use super::DataReconciler;

/// Index of Metal3Data by their claim.
const BY_CLAIM: &str = "claim";
/// Index of Metal3Data that are not ready by their template.
const BY_WAITING_TEMPLATE: &str = "waiting-template";
/// Index of Metal3DataClaims by their Metal3Machine.
const BY_MACHINE: &str = "metal3machine";

/// Starts the controller.
pub fn start(manager: &Manager) {
    let this = DataReconciler::new(manager);
    index(&this);
    let finder = Finder { data: this.data.clone(), claims: this.claims.clone() };
    let (by_claim, by_machine, by_reference, by_host) =
        (finder.clone(), finder.clone(), finder.clone(), finder);
    let (of_template, of_cluster, of_reserved) = (this.data.clone(), this.data.clone(), this.data.clone());
    let (ip_claims, address_claims) =
        (this.addresses.ip_claims.clone(), this.addresses.address_claims.clone());
    let controller = Controller::new(manager, "metal3data")
        .reconciles(&this.data)
        .owns(&this.secrets, Metal3Data::GROUP, Metal3Data::KIND)
        .owns(&this.addresses.ip_claims, Metal3Data::GROUP, Metal3Data::KIND)
        .watches(&this.addresses.ip_claims, move |change| {
            // The next machine of a host waits for the claim that has the name of the host.
            let mut waiting = match change.new {
                Some(_) => Vec::new(),
                None => of_reserved.in_namespace(&change.name().namespace),
            };
            waiting.retain(|data| !is_ready(data));
            requests_of(&waiting)
        })
        .owns(&this.addresses.address_claims, Metal3Data::GROUP, Metal3Data::KIND)
        .reads(&this.addresses.pools)
        .watches(&this.addresses.ip_addresses, move |change| {
            of_address(change, &ip_claims, |address| address.spec.claim.name.clone())
        })
        .watches(&this.addresses.addresses, move |change| {
            of_address(change, &address_claims, |address| Some(address.spec.claim_ref.name.clone()))
        })
        .watches(&this.claims, move |change| by_claim.of_claim(&change.name()))
        .watches(&this.metal3_machines, move |change| by_machine.of_machine(&change.name()))
        .watches(&this.machines, move |change| {
            let reference = change.objects().last().map(|machine| &machine.spec.infrastructure_ref);
            let reference = reference.filter(|reference| reference.kind == Metal3Machine::KIND);
            let name = reference
                .map(|reference| NamespacedName::new(change.name().namespace, reference.name.as_str()));
            name.map(|name| by_reference.of_waiting_machine(&name)).unwrap_or_default()
        })
        .watches(&this.hosts, move |change| {
            let machine = change.new.as_deref().and_then(consumer);
            machine.map(|machine| by_host.of_waiting_machine(&machine)).unwrap_or_default()
        })
        .watches(&this.templates, move |change| {
            requests_of(&of_template.by_index(BY_WAITING_TEMPLATE, &change.name().to_string()))
        })
        .watches(&this.clusters, move |change| {
            let paused = |cluster: &schemas::cluster::Cluster| cluster.spec.paused;
            if change.old.as_deref().map(paused) == change.new.as_deref().map(paused) {
                return Vec::new();
            }
            requests_of(&of_cluster.by_cluster(&change.name()))
        });
    controller.start(this);
}

fn index(this: &DataReconciler) {
    this.data.index(BY_CLAIM, |data| {
        let claim = data.spec.claim.as_ref().and_then(|claim| claim.name.as_deref());
        claim.map(|claim| in_namespace(data, claim)).into_iter().collect()
    });
    this.data.index(BY_WAITING_TEMPLATE, |data| {
        let template = data.spec.template.as_ref().and_then(|template| template.name.as_deref());
        template
            .filter(|_| !is_ready(data))
            .map(|template| in_namespace(data, template))
            .into_iter()
            .collect()
    });
    this.claims.index(BY_MACHINE, |claim| {
        let owner = engine::owners::find(claim, Metal3Machine::GROUP, Metal3Machine::KIND);
        owner.map(|owner| in_namespace(claim, &owner.name)).into_iter().collect()
    });
}

fn in_namespace<K: Kind>(object: &K, name: &str) -> String {
    NamespacedName::new(object.meta().namespace.clone().unwrap_or_default(), name).to_string()
}

fn is_ready(data: &Metal3Data) -> bool {
    data.status.as_ref().is_some_and(|status| status.ready == Some(true))
}

/// Returns the Metal3Machine that a host belongs to.
fn consumer(host: &BareMetalHost) -> Option<NamespacedName> {
    let consumer = host.spec.consumer_ref.as_ref()?;
    let is_machine = consumer.kind.as_deref() == Some(Metal3Machine::KIND);
    let name = consumer.name.clone().filter(|_| is_machine)?;
    Some(NamespacedName::new(consumer.namespace.clone().unwrap_or_default(), name))
}

/// Returns the Metal3Data that own the claim of an address. The address may reach the cache after its claim.
fn of_address<A: Kind, C: Kind>(
    change: &Change<A>,
    claims: &Objects<C>,
    claim: impl Fn(&A) -> Option<String>,
) -> Vec<Request> {
    let name = change.new.as_deref().and_then(claim);
    let claim = name.and_then(|name| claims.get(&NamespacedName::new(change.name().namespace, name)));
    let change = Change { old: None, new: claim };
    owner_requests(&change, Metal3Data::GROUP, Metal3Data::KIND)
}

/// Finds Metal3Data by the objects that lead to them.
#[derive(Clone)]
struct Finder {
    data: Objects<Metal3Data>,
    claims: Objects<Metal3DataClaim>,
}

impl Finder {
    fn of_claim(&self, claim: &NamespacedName) -> Vec<Request> {
        requests_of(&self.data.by_index(BY_CLAIM, &claim.to_string()))
    }

    fn of_machine(&self, machine: &NamespacedName) -> Vec<Request> {
        let claims = self.claims.by_index(BY_MACHINE, &machine.to_string());
        claims.iter().flat_map(|claim| self.of_claim(&NamespacedName::of(claim.as_ref()))).collect()
    }

    /// Like [`Finder::of_machine`], without those that are ready: hosts and Machines change often.
    fn of_waiting_machine(&self, machine: &NamespacedName) -> Vec<Request> {
        let mut found = self.of_machine(machine);
        found.retain(|name| self.data.get(name).is_some_and(|data| !is_ready(&data)));
        found
    }
}
