//! All roles and bindings at one moment, and the permissions that they give to a user. Pure functions.

use std::collections::HashMap;

use machinery::field::quote;
use serde::Deserialize;
use store::Key;

use super::binding::{Binding, Bindings, RoleRef};
use super::rule::Rule;
use crate::attributes::Attributes;
use kinds::user::User;

/// All roles and bindings.
#[derive(Debug, Default)]
pub(super) struct Policy {
    cluster_roles: HashMap<String, Vec<Rule>>,
    /// Roles by namespace, then name.
    roles: HashMap<String, HashMap<String, Vec<Rule>>>,
    cluster_bindings: Bindings,
    /// RoleBindings by namespace.
    bindings: HashMap<String, Bindings>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Role {
    rules: Option<Vec<Rule>>,
}

/// A binding that grants a role to a user.
pub(super) struct Grant<'p> {
    binding: &'p Binding,
    name: &'p str,
    /// Namespace of the binding; empty for a ClusterRoleBinding.
    namespace: &'p str,
}

impl Grant<'_> {
    /// Describes the grant: `RoleBinding "reader/ns" of Role "reader" to User "alice"`.
    pub(super) fn describe(&self, user: &User) -> String {
        let (kind, name) = if self.namespace.is_empty() {
            ("ClusterRoleBinding", self.name.to_owned())
        } else {
            ("RoleBinding", format!("{}/{}", self.name, self.namespace))
        };
        let RoleRef { kind: role_kind, name: role, .. } = &self.binding.role_ref;
        let subject = self.binding.subject(user, self.namespace);
        format!("{kind} {} of {role_kind} {} to {subject}", quote(&name), quote(role))
    }
}

/// The policy's decision on a request.
pub(super) enum Verdict<'p> {
    /// A binding allows the request.
    Allowed { grant: Grant<'p> },
    /// No binding allows the request; `missing` lists the nonexistent roles that the user's bindings refer
    /// to.
    Denied { missing: Vec<String> },
}

impl Policy {
    /// Applies a change of a role or binding; `None` for a deleted object.
    pub(super) fn apply(&mut self, key: &Key, object: Option<&[u8]>) {
        let (namespace, name) = (key.namespace().unwrap_or_default(), key.name());
        // All objects of this group were validated when they were stored.
        let role = || object.and_then(|text| serde_json::from_slice::<Role>(text).ok());
        let binding = || object.and_then(|text| serde_json::from_slice::<Binding>(text).ok());
        match key.resource() {
            "clusterroles" => put(&mut self.cluster_roles, name, role()),
            "roles" => {
                let roles = self.roles.entry(namespace.to_owned()).or_default();
                put(roles, name, role());
                if roles.is_empty() {
                    self.roles.remove(namespace);
                }
            }
            "clusterrolebindings" => self.cluster_bindings.set("", name, binding()),
            "rolebindings" => {
                let bindings = self.bindings.entry(namespace.to_owned()).or_default();
                bindings.set(namespace, name, binding());
                if bindings.is_empty() {
                    self.bindings.remove(namespace);
                }
            }
            _ => {}
        }
    }

    /// Returns the rules of the role that a binding in `namespace` refers to.
    ///
    /// # Errors
    /// Says in the API's words that the role does not exist.
    pub(super) fn role(&self, reference: &RoleRef, namespace: &str) -> Result<&[Rule], String> {
        let (found, resource) = match reference.kind.as_str() {
            "Role" => (self.roles.get(namespace).and_then(|roles| roles.get(&reference.name)), "role"),
            "ClusterRole" => (self.cluster_roles.get(&reference.name), "clusterrole"),
            other => return Err(format!("unsupported role reference kind: {}", quote(other))),
        };
        found
            .map(Vec::as_slice)
            .ok_or_else(|| format!("{resource}.{} {} not found", super::GROUP, quote(&reference.name)))
    }

    /// Returns the grants of a user: ClusterRoleBindings first, then those of the namespace.
    fn grants<'p>(&'p self, user: &User, namespace: &'p str) -> impl Iterator<Item = Grant<'p>> {
        let cluster = self.cluster_bindings.of(user).into_iter().map(|found| ("", found));
        let local = self.bindings.get(namespace).filter(|_| !namespace.is_empty());
        let local = local.map(|bindings| bindings.of(user)).unwrap_or_default();
        let local = local.into_iter().map(move |found| (namespace, found));
        cluster.chain(local).map(|(namespace, (name, binding))| Grant { binding, name, namespace })
    }

    /// Decides on a request, with the grant that allows it.
    pub(super) fn judge<'p>(&'p self, attributes: &Attributes<'p>) -> Verdict<'p> {
        let namespace = attributes.resource.map_or("", |resource| resource.namespace);
        let mut missing = Vec::new();
        for grant in self.grants(attributes.user, namespace) {
            match self.role(&grant.binding.role_ref, grant.namespace) {
                Ok(rules) if rules.iter().any(|rule| rule.allows(attributes)) => {
                    return Verdict::Allowed { grant };
                }
                Ok(_) => {}
                Err(error) => missing.push(error),
            }
        }
        Verdict::Denied { missing }
    }

    /// Returns all rules of a user in a namespace (empty: only cluster-wide ones), and errors for missing
    /// roles.
    pub(super) fn rules(&self, user: &User, namespace: &str) -> (Vec<&Rule>, Vec<String>) {
        let (mut rules, mut missing) = (Vec::new(), Vec::new());
        for grant in self.grants(user, namespace) {
            match self.role(&grant.binding.role_ref, grant.namespace) {
                Ok(found) => rules.extend(found),
                Err(error) => missing.push(error),
            }
        }
        (rules, missing)
    }
}

fn put(roles: &mut HashMap<String, Vec<Rule>>, name: &str, role: Option<Role>) {
    match role {
        Some(role) => drop(roles.insert(name.to_owned(), role.rules.unwrap_or_default())),
        None => drop(roles.remove(name)),
    }
}
