//! Privilege escalation checks on writes of roles and bindings: users can only grant permissions that they
//! have.

use machinery::field::{aggregate, quote};
use machinery::meta;
use machinery::status::Status;
use registry::{Admission, Operation, Review, Subresource};
use serde::Deserialize;
use serde_json::Value;

use super::binding::RoleRef;
use super::policy::Policy;
use super::rule::{self, Rule};
use super::{GROUP, Rbac};
use crate::attributes::{Attributes, Resource};
use crate::authorize::{Authorizer, Decision};
use kinds::user::{GROUP_MASTERS, User};

impl Admission for Rbac {
    fn mutate(&self, _: &Review<'_>, _: &mut Value, _: &mut Vec<String>) -> Result<(), Status> {
        Ok(())
    }

    /// Refuses roles and bindings that grant more permissions than the writer has.
    fn permit(&self, review: &Review<'_>, object: &Value) -> Result<(), Status> {
        let definition = &review.served.definition;
        let concerned = definition.built_in
            && definition.group == GROUP
            && review.subresource == Subresource::None
            && review.operation != Operation::Delete;
        if !concerned || review.user.groups.iter().any(|group| group == GROUP_MASTERS) {
            return Ok(());
        }
        if review.old.is_some_and(|old| only_owners_differ(object, old)) {
            return Ok(());
        }
        let user = review.user;
        match definition.plural.as_str() {
            "roles" | "clusterroles" => self.check_role(review, user, object),
            "rolebindings" | "clusterrolebindings" => self.check_binding(review, user, object),
            _ => Ok(()),
        }
    }

    fn validate(&self, review: &Review<'_>, object: &Value, _: &mut Vec<String>) -> Result<(), Status> {
        self.check_signer(review, object)
    }
}

impl Rbac {
    fn check_role(&self, review: &Review<'_>, user: &User, object: &Value) -> Result<(), Status> {
        let escalate = Resource {
            resource: &review.served.definition.plural,
            namespace: review.namespace,
            name: review.name,
            ..rbac_resource()
        };
        if self.may(user, "escalate", escalate) {
            return Ok(());
        }
        let policy = self.policy();
        let rules = parsed::<Vec<Rule>>(&object["rules"]);
        confirm(&policy, user, review.namespace, &rules).map_err(|why| forbidden(review, object, &why))?;
        let aggregates = |role: &Value| {
            role["aggregationRule"]["clusterRoleSelectors"].as_array().is_some_and(|list| !list.is_empty())
        };
        if !aggregates(object) && !review.old.is_some_and(aggregates) {
            return Ok(());
        }
        confirm(&policy, user, review.namespace, &Rule::full_authority()).map_err(|_| {
            let why = "must have cluster-admin privileges to use an aggregationRule";
            forbidden(review, object, why)
        })
    }

    fn check_binding(&self, review: &Review<'_>, user: &User, object: &Value) -> Result<(), Status> {
        let reference = parsed::<RoleRef>(&object["roleRef"]);
        let plural = match reference.kind.as_str() {
            "ClusterRole" => "clusterroles",
            "Role" => "roles",
            _ => "",
        };
        let bind = Resource {
            group: &reference.api_group,
            resource: plural,
            namespace: review.namespace,
            name: &reference.name,
            ..rbac_resource()
        };
        if !plural.is_empty() && self.may(user, "bind", bind) {
            return Ok(());
        }
        let policy = self.policy();
        let rules = policy.role(&reference, review.namespace).map_err(|why| {
            if plural.is_empty() {
                return Status::generic(why);
            }
            // kube-apiserver reports the binding's resource with the role's name.
            Status::not_found(review.served.resource(), &reference.name)
        })?;
        confirm(&policy, user, review.namespace, rules).map_err(|why| forbidden(review, object, &why))
    }

    pub(super) fn may(&self, user: &User, verb: &str, resource: Resource<'_>) -> bool {
        let attributes = Attributes { user, verb, path: "", resource: Some(resource) };
        self.authorize(&attributes) == Decision::Allow
    }
}

fn rbac_resource() -> Resource<'static> {
    Resource { group: GROUP, version: "*", ..Resource::default() }
}

/// Parses a value, or returns the default. Values of the wrong type are refused by validation, which comes
/// later.
fn parsed<T: for<'a> Deserialize<'a> + Default>(value: &Value) -> T {
    T::deserialize(value).unwrap_or_default()
}

fn forbidden(review: &Review<'_>, object: &Value, why: &str) -> Status {
    Status::forbidden(review.served.resource(), meta::name(object), why)
}

/// Checks that `user` has all of `rules` in `namespace`; the error lists the missing permissions.
fn confirm(policy: &Policy, user: &User, namespace: &str, rules: &[Rule]) -> Result<(), String> {
    let (owned, unresolved) = policy.rules(user, namespace);
    let Some(missing) = rule::beyond(&owned, rules) else { return Ok(()) };
    let mut why = format!(
        "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        quote(&user.name),
        rule::quoted(&user.groups),
        missing.join("\n")
    );
    if !unresolved.is_empty() {
        why.push_str(&format!("; resolution errors: [{}]", aggregate(&unresolved)));
    }
    Err(why)
}

/// Returns whether two objects differ at most in metadata that the garbage collector changes.
fn only_owners_differ(object: &Value, old: &Value) -> bool {
    let rest = |object: &Value| {
        let mut rest = object.clone();
        if let Some(metadata) = meta::metadata_mut(&mut rest) {
            metadata.retain(|key, _| {
                !matches!(key.as_str(), "ownerReferences" | "finalizers" | "managedFields" | "selfLink")
            });
        }
        rest
    };
    rest(object) == rest(old)
}
