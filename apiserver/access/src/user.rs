//! Who asks.

use std::collections::BTreeMap;

use machinery::names::{dns1123_label, dns1123_subdomain};

/// Members may do everything.
pub const GROUP_MASTERS: &str = "system:masters";
/// Everybody whose identity is known.
pub const GROUP_AUTHENTICATED: &str = "system:authenticated";
/// Everybody else.
pub const GROUP_UNAUTHENTICATED: &str = "system:unauthenticated";
/// The user of a request without credentials.
pub const ANONYMOUS: &str = "system:anonymous";
/// What the name of a service account's user begins with: `system:serviceaccount:NAMESPACE:NAME`.
pub const SERVICE_ACCOUNT_PREFIX: &str = "system:serviceaccount:";

/// The group of all service accounts; with a colon and a namespace behind, of those in it.
pub const GROUP_SERVICE_ACCOUNTS: &str = "system:serviceaccounts";
/// What the name of a node's user begins with.
pub const NODE_PREFIX: &str = "system:node:";
/// The group of all nodes.
pub const GROUP_NODES: &str = "system:nodes";

/// Namespace and name of a service account's user.
pub fn service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(SERVICE_ACCOUNT_PREFIX)?.split_once(':')?;
    let good = dns1123_label(namespace).is_empty() && dns1123_subdomain(name).is_empty();
    good.then_some((namespace, name))
}

/// The groups that a service account in `namespace` is in.
pub fn service_account_groups(namespace: &str) -> Vec<String> {
    vec![GROUP_SERVICE_ACCOUNTS.to_owned(), format!("{GROUP_SERVICE_ACCOUNTS}:{namespace}")]
}

/// An identity, as authentication found it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct User {
    /// The name, `system:anonymous` for nobody.
    pub name: String,
    /// Set for some identities only; empty otherwise.
    pub uid: String,
    /// The groups, in the order in which they were found.
    pub groups: Vec<String>,
    /// Further attributes; keys are lower case.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl From<&User> for registry::User {
    fn from(user: &User) -> Self {
        let User { name, uid, groups, extra } = user.clone();
        Self { name, uid, groups, extra }
    }
}

impl From<&registry::User> for User {
    fn from(user: &registry::User) -> Self {
        let registry::User { name, uid, groups, extra } = user.clone();
        Self { name, uid, groups, extra }
    }
}

impl User {
    /// A user with these groups and `system:authenticated`.
    pub fn new<G: Into<String>>(name: impl Into<String>, groups: impl IntoIterator<Item = G>) -> Self {
        let mut groups: Vec<String> = groups.into_iter().map(Into::into).collect();
        if !groups.iter().any(|group| group == GROUP_AUTHENTICATED) {
            groups.push(GROUP_AUTHENTICATED.into());
        }
        Self { name: name.into(), groups, ..Self::default() }
    }

    /// A user that may do everything, as the controllers of this process are.
    pub fn master(name: impl Into<String>) -> Self {
        Self::new(name, [GROUP_MASTERS])
    }

    /// Who asks when nobody says who asks.
    pub fn anonymous() -> Self {
        Self { name: ANONYMOUS.into(), groups: vec![GROUP_UNAUTHENTICATED.into()], ..Self::default() }
    }

    /// Whether the user is in this group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|one| one == group)
    }
}
