//! Decides whether a request may go on.

use machinery::field::quote;
use machinery::status::{GroupResource, Status};

use crate::attributes::Attributes;
use crate::rbac::Rule;
use crate::user::{GROUP_MASTERS, User};

/// What an [`Authorizer`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It may.
    Allow,
    /// It may not; the text is appended to the error, empty for none.
    Deny(String),
}

/// What a user may do in a namespace, as far as it can be listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserRules {
    /// In the order in which they were found.
    pub rules: Vec<Rule>,
    /// Whether there may be more.
    pub incomplete: bool,
    /// What could not be resolved; empty for nothing.
    pub error: String,
}

/// Says whether a request is allowed.
pub trait Authorizer: Send + Sync + 'static {
    /// Whether a request with these attributes is allowed.
    fn authorize(&self, attributes: &Attributes<'_>) -> Decision;

    /// The same, and why it is allowed or not; the text may be empty.
    fn explain(&self, attributes: &Attributes<'_>) -> (bool, String) {
        match self.authorize(attributes) {
            Decision::Allow => (true, String::new()),
            Decision::Deny(reason) => (false, reason),
        }
    }

    /// What a user may do in a namespace.
    fn rules(&self, _user: &User, _namespace: &str) -> UserRules {
        UserRules { incomplete: true, ..UserRules::default() }
    }
}

/// Only the group `system:masters` gets in; everybody may ask for health and version. For servers without roles.
#[derive(Debug, Default, Clone, Copy)]
pub struct MastersOnly;

/// Everybody may do everything, known or not: kube-apiserver's mode `AlwaysAllow`.
#[derive(Debug, Default, Clone, Copy)]
pub struct AllowAll;

impl Authorizer for AllowAll {
    fn authorize(&self, _attributes: &Attributes<'_>) -> Decision {
        Decision::Allow
    }
}

/// What everybody may read, known or not.
const PUBLIC_PATHS: [&str; 5] = ["/healthz", "/livez", "/readyz", "/version", "/version/"];

impl Authorizer for MastersOnly {
    fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        if attributes.user.is_in(GROUP_MASTERS) {
            return Decision::Allow;
        }
        let public = attributes.resource.is_none()
            && attributes.verb == "get"
            && PUBLIC_PATHS.contains(&attributes.path);
        if public { Decision::Allow } else { Decision::Deny(String::new()) }
    }
}

/// The 403 for a request that was denied for `reason` (which may be empty).
pub fn forbidden(attributes: &Attributes<'_>, reason: &str) -> Status {
    let user = &attributes.user.name;
    let verb = attributes.verb;
    let Some(resource) = attributes.resource else {
        let mut why = format!("User {} cannot {verb} path {}", quote(user), quote(attributes.path));
        if !reason.is_empty() {
            why = format!("{why}: {reason}");
        }
        return Status::forbidden_path(&why);
    };
    let what = if resource.subresource.is_empty() {
        resource.resource.to_owned()
    } else {
        format!("{}/{}", resource.resource, resource.subresource)
    };
    let scope = if resource.namespace.is_empty() {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace {}", quote(resource.namespace))
    };
    let (user, what, group) = (quote(user), quote(&what), quote(resource.group));
    let mut why = format!("User {user} cannot {verb} resource {what} in API group {group} {scope}");
    if !reason.is_empty() {
        why = format!("{why}: {reason}");
    }
    Status::forbidden(
        GroupResource { group: resource.group, resource: resource.resource },
        resource.name,
        &why,
    )
}
