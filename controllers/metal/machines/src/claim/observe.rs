//! Reads the objects on which the plan of a HostClaim depends.

use std::sync::Arc;

use engine::events::Recorder;
use engine::object::is_deleting;
use engine::{Manager, NamespacedName, Objects};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use schemas::metal3::{BareMetalHost, HostClaim, HostDeployPolicy};

use super::observed::Observed;
use super::policy::{allows, place_of};
use super::secrets::{Role, Source};
use super::status::is_lost;
use crate::claiming::Claiming;

/// Index of hosts by the HostClaim that they name as their consumer, `namespace/name`.
pub(super) const BY_CONSUMER: &str = "hostclaim-consumer";
/// Index of HostClaims by the Secrets that they refer to, `namespace/name`.
pub(super) const BY_SECRET: &str = "hostclaim-secret";
/// Index of Secrets by the HostClaim for which they were copied, `namespace/name`.
pub(super) const BY_CLAIM: &str = "hostclaim-copies";

/// The controller of HostClaims.
pub(super) struct HostClaimController {
    pub objects: Objects<HostClaim>,
    pub hosts: Objects<BareMetalHost>,
    pub policies: Objects<HostDeployPolicy>,
    pub namespaces: Objects<Namespace>,
    pub secrets: Objects<Secret>,
    pub claiming: Claiming,
    pub recorder: Recorder,
    pub manager: Manager,
}

/// Returns the Secrets that a claim refers to: always those of its own namespace.
pub(super) fn referenced(claim: &HostClaim) -> impl Iterator<Item = (Role, NamespacedName)> {
    Role::ALL.into_iter().filter_map(|role| {
        let name = role.reference(&claim.spec)?.name.as_deref().filter(|name| !name.is_empty())?;
        Some((role, NamespacedName::new(claim.metadata.namespace.as_deref()?, name)))
    })
}

/// Returns the host that the claim was given.
fn given(claim: &HostClaim) -> Option<NamespacedName> {
    let given = claim.status.as_ref()?.bare_metal_host.as_ref()?;
    Some(NamespacedName::new(given.namespace.as_str(), given.name.as_str()))
}

impl HostClaimController {
    /// Reads the state on which the plan of `object` depends.
    pub(super) fn read(&self, object: Arc<HostClaim>) -> Observed {
        let name = NamespacedName::of(object.as_ref());
        let key = name.to_string();
        let mut host = self.given(&object);
        let (mut namespaces, mut hosts) = (Vec::new(), Vec::new());
        if host.is_none() && !is_deleting(object.as_ref()) {
            // That a host names the claim is not enough, since whoever may create hosts can write this, and would get the claim's Secrets: it
            // must be in a namespace whose policies allow the claim.
            let mut naming = self.hosts.by_index(BY_CONSUMER, &key);
            naming.retain(|_| given(&object).is_none());
            if !naming.is_empty() || !is_lost(&object) {
                namespaces = self.allowing(&object);
            }
            let is_allowed = |host: &Arc<BareMetalHost>| {
                host.metadata.namespace.as_ref().is_some_and(|own| namespaces.contains(own))
            };
            host = naming.into_iter().find(is_allowed);
            if host.is_none() {
                hosts = namespaces.iter().flat_map(|namespace| self.hosts.in_namespace(namespace)).collect();
            }
        }
        let copy = |role: Role| {
            let host = NamespacedName::of(host.as_ref()?.as_ref());
            self.secrets.get(&role.copy_name(&host))
        };
        let sources = referenced(&object).map(|(role, name)| Source {
            role,
            secret: self.secrets.get(&name),
            present: copy(role),
            name,
        });
        Observed {
            sources: sources.collect(),
            copies: self.secrets.by_index(BY_CLAIM, &key),
            name,
            object,
            host,
            namespaces,
            hosts,
        }
    }

    /// Returns the host that the claim was given and that names it as its consumer. A deleted claim that was given none has each host that
    /// names it: nothing is written to it but that it is free.
    pub(super) fn given(&self, claim: &HostClaim) -> Option<Arc<BareMetalHost>> {
        let given = given(claim);
        let mut hosts = self.hosts.by_index(BY_CONSUMER, &NamespacedName::of(claim).to_string());
        hosts.retain(|host| match &given {
            Some(given) => NamespacedName::of(host.as_ref()) == *given,
            None => is_deleting(claim),
        });
        hosts.into_iter().next()
    }

    /// Returns the namespaces whose policies allow the claim. As in Metal3, also the claim's own namespace needs a policy.
    fn allowing(&self, claim: &HostClaim) -> Vec<String> {
        let own = claim.metadata.namespace.as_deref().unwrap_or_default();
        let Some(namespace) = self.namespaces.get(&NamespacedName::new("", own)) else { return Vec::new() };
        let policies = match place_of(claim) {
            Some(place) => self.policies.in_namespace(place),
            None => self.policies.all(),
        };
        let allowed =
            policies.iter().filter(|policy| allows(policy, own, namespace.metadata.labels.as_ref()));
        let mut namespaces: Vec<String> =
            allowed.filter_map(|policy| policy.metadata.namespace.clone()).collect();
        namespaces.sort();
        namespaces.dedup();
        namespaces
    }
}
