//! Reads the objects on which the plan of a HostClaim depends.

use std::sync::Arc;

use engine::events::Recorder;
use engine::object::is_deleting;
use engine::{Manager, NamespacedName, Objects};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use schemas::metal3::{BareMetalHost, HostClaim, HostDeployPolicy};

use super::plan::Observed;
use super::policy::admits;
use super::secrets::{Role, Source};
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

impl HostClaimController {
    /// Reads the state on which the plan of `object` depends.
    pub(super) fn read(&self, object: Arc<HostClaim>) -> Observed {
        let name = NamespacedName::of(object.as_ref());
        let key = name.to_string();
        let namespaces = self.admitting(&object);
        let host = self.host_of(&object, &namespaces);
        let hosts = match host.is_none() && !is_deleting(object.as_ref()) {
            true => namespaces.iter().flat_map(|namespace| self.hosts.in_namespace(namespace)).collect(),
            false => Vec::new(),
        };
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

    /// Returns the host of a claim. That a host names the claim is not enough, since whoever may create hosts can write this, and would get
    /// the claim's Secrets: the host must be the one that the claim was given, or be in a namespace whose policies admit the claim.
    fn host_of(&self, claim: &HostClaim, namespaces: &[String]) -> Option<Arc<BareMetalHost>> {
        let name = NamespacedName::of(claim);
        let mut hosts = self.hosts.by_index(BY_CONSUMER, &name.to_string());
        let given = claim.status.as_ref().and_then(|status| status.bare_metal_host.as_ref());
        let given = given.map(|given| NamespacedName::new(given.namespace.as_str(), given.name.as_str()));
        hosts.retain(|host| match &given {
            Some(given) => NamespacedName::of(host.as_ref()) == *given,
            // Nothing is written to the host of a deleted claim but that it is free.
            None => {
                let namespace = host.metadata.namespace.as_ref();
                is_deleting(claim) || namespace.is_some_and(|namespace| namespaces.contains(namespace))
            }
        });
        hosts.into_iter().next()
    }

    /// Returns the host of a claim that has been given one.
    pub(super) fn given(&self, claim: &HostClaim) -> Option<Arc<BareMetalHost>> {
        self.host_of(claim, &[])
    }

    /// Returns the namespaces whose policies admit the claim. As in Metal3, also the claim's own namespace needs a policy.
    fn admitting(&self, claim: &HostClaim) -> Vec<String> {
        let own = claim.metadata.namespace.as_deref().unwrap_or_default();
        let Some(namespace) = self.namespaces.get(&NamespacedName::new("", own)) else { return Vec::new() };
        let place = claim.spec.host_selector.as_ref().and_then(|selector| selector.in_namespace.as_deref());
        let policies = match place.filter(|place| !place.is_empty()) {
            Some(place) => self.policies.in_namespace(place),
            None => self.policies.all(),
        };
        let admitted =
            policies.iter().filter(|policy| admits(policy, own, namespace.metadata.labels.as_ref()));
        let mut namespaces: Vec<String> =
            admitted.filter_map(|policy| policy.metadata.namespace.clone()).collect();
        namespaces.sort();
        namespaces.dedup();
        namespaces
    }
}
