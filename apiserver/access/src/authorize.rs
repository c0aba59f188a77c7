//! Authorization of requests.

use machinery::field::quote;
use machinery::status::{GroupResource, Status};

use crate::attributes::Attributes;
use crate::rbac::Rule;
use kinds::user::{GROUP_MASTERS, User};

/// The decision of an [`Authorizer`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The request is allowed.
    Allow,
    /// The request is denied. The reason is appended to the error message; it may be empty.
    Deny(String),
}

/// The permissions of a user in a namespace, as far as they can be listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserRules {
    /// The rules, in the order in which they were found.
    pub rules: Vec<Rule>,
    /// Whether further rules may apply.
    pub incomplete: bool,
    /// Description of rules that could not be resolved; empty if there are none.
    pub error: String,
}

/// Decides whether requests are allowed.
pub trait Authorizer: Send + Sync + 'static {
    /// Decides on a request with these attributes.
    fn authorize(&self, attributes: &Attributes<'_>) -> Decision;

    /// Returns the decision and its reason, which may be empty.
    fn explain(&self, attributes: &Attributes<'_>) -> (bool, String) {
        match self.authorize(attributes) {
            Decision::Allow => (true, String::new()),
            Decision::Deny(reason) => (false, reason),
        }
    }

    /// Lists the permissions of a user in a namespace.
    fn rules(&self, _user: &User, _namespace: &str) -> UserRules {
        UserRules { incomplete: true, ..UserRules::default() }
    }
}

/// Allows the group `system:masters` everything, and everybody to read health and version. For servers
/// without RBAC.
#[derive(Debug, Default, Clone, Copy)]
pub struct MastersOnly;

/// Allows every request, also anonymous ones: kube-apiserver's mode `AlwaysAllow`.
#[derive(Debug, Default, Clone, Copy)]
pub struct AllowAll;

impl Authorizer for AllowAll {
    fn authorize(&self, _attributes: &Attributes<'_>) -> Decision {
        Decision::Allow
    }
}

/// Paths that everybody may read, also anonymously.
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

/// Returns the 403 status for a request that was denied for `reason`, which may be empty.
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
