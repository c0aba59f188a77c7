//! Users and groups.

use std::collections::BTreeMap;

use machinery::names::{dns1123_label, dns1123_subdomain};

/// Group whose members may do everything.
pub const GROUP_MASTERS: &str = "system:masters";
/// Group of all authenticated users.
pub const GROUP_AUTHENTICATED: &str = "system:authenticated";
/// Group of all unauthenticated requests.
pub const GROUP_UNAUTHENTICATED: &str = "system:unauthenticated";
/// The user of a request without credentials.
pub const ANONYMOUS: &str = "system:anonymous";
/// Prefix of a service account's user name: `system:serviceaccount:NAMESPACE:NAME`.
pub const SERVICE_ACCOUNT_PREFIX: &str = "system:serviceaccount:";

/// The group of all service accounts; followed by a colon and a namespace, the group of those in the
/// namespace.
pub const GROUP_SERVICE_ACCOUNTS: &str = "system:serviceaccounts";
/// Prefix of a Node's user name.
pub const NODE_PREFIX: &str = "system:node:";
/// The group of all Nodes.
pub const GROUP_NODES: &str = "system:nodes";

/// Returns namespace and name of the service account behind a user name.
pub fn service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(SERVICE_ACCOUNT_PREFIX)?.split_once(':')?;
    let good = dns1123_label(namespace).is_empty() && dns1123_subdomain(name).is_empty();
    good.then_some((namespace, name))
}

/// Returns the groups of a service account in `namespace`.
pub fn service_account_groups(namespace: &str) -> Vec<String> {
    vec![GROUP_SERVICE_ACCOUNTS.to_owned(), format!("{GROUP_SERVICE_ACCOUNTS}:{namespace}")]
}

/// The identity of a requesting user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct User {
    /// User name; `system:anonymous` for requests without credentials.
    pub name: String,
    /// UID; empty for most identities.
    pub uid: String,
    /// Groups, in the order in which they were found.
    pub groups: Vec<String>,
    /// Further attributes; keys are lower case.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// Creates a user in these groups and `system:authenticated`.
    pub fn new<G: Into<String>>(name: impl Into<String>, groups: impl IntoIterator<Item = G>) -> Self {
        let mut groups: Vec<String> = groups.into_iter().map(Into::into).collect();
        if !groups.iter().any(|group| group == GROUP_AUTHENTICATED) {
            groups.push(GROUP_AUTHENTICATED.into());
        }
        Self { name: name.into(), groups, ..Self::default() }
    }

    /// Creates a user that may do everything; used for the controllers of this process.
    pub fn master(name: impl Into<String>) -> Self {
        Self::new(name, [GROUP_MASTERS])
    }

    /// Returns the user for requests without credentials.
    pub fn anonymous() -> Self {
        Self { name: ANONYMOUS.into(), groups: vec![GROUP_UNAUTHENTICATED.into()], ..Self::default() }
    }

    /// Returns whether the user is in this group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|one| one == group)
    }
}
