//! The namespaces in which a HostClaim may get a host: the one that it names, and those whose HostDeployPolicies allow it. Pure.

use std::collections::BTreeMap;

use engine::object::is_deleting;
use machinery::pattern;
use schemas::metal3::{HostClaim, HostDeployPolicy};

/// Returns the only namespace in which the claim wants a host; `None` if it wants one of any namespace.
pub(super) fn place_of(claim: &HostClaim) -> Option<&str> {
    let place = claim.spec.host_selector.as_ref()?.in_namespace.as_deref();
    place.filter(|place| !place.is_empty())
}

/// Returns whether a policy allows the HostClaims of a namespace. All constraints that are set must hold. As in Metal3, a policy without
/// `hostClaimNamespaces` allows none, one whose `hostClaimNamespaces` is empty allows all, and `nameMatches` may match any part of the
/// name. A pattern that does not compile allows none.
pub fn allows(policy: &HostDeployPolicy, namespace: &str, labels: Option<&BTreeMap<String, String>>) -> bool {
    let Some(rule) = policy.spec.host_claim_namespaces.as_ref().filter(|_| !is_deleting(policy)) else {
        return false;
    };
    let is_named = rule.names.as_ref().is_none_or(|names| names.iter().any(|name| name == namespace));
    let pattern = rule.name_matches.as_deref().filter(|pattern| !pattern.is_empty());
    let matches = pattern
        .is_none_or(|pattern| pattern::shared(pattern).is_ok_and(|pattern| pattern.is_match(namespace)));
    let has_labels = rule.has_labels.iter().all(|label| {
        let wanted = label.value.as_deref().filter(|value| !value.is_empty());
        let found = labels.and_then(|labels| labels.get(&label.name));
        found.is_some_and(|found| wanted.is_none_or(|wanted| wanted == found))
    });
    is_named && matches && has_labels
}
