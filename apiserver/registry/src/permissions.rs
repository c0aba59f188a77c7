//! What users may do, for the expressions of policies and webhooks that ask `authorizer`.

use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use kinds::User;
use kinds::user::GROUP_MASTERS;

pub use cel::program::{Resource, Subject};

/// Decides what users may do.
pub trait Permits: Send + Sync {
    /// Returns whether the user may use the verb, and the reason.
    fn permits(&self, user: &User, verb: &str, subject: &Subject) -> (bool, String);
}

/// The permissions of users, if the request comes with them.
#[derive(Clone, Default)]
pub struct Permissions(Option<Arc<dyn Permits>>);

impl Permissions {
    /// Creates the permissions that `permits` decides.
    pub fn new(permits: Arc<dyn Permits>) -> Self {
        Self(Some(permits))
    }

    /// Returns whether the request comes with permissions.
    pub(crate) fn are_decided(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn permits(&self, user: &User, verb: &str, subject: &Subject) -> (bool, String) {
        match &self.0 {
            Some(permits) => permits.permits(user, verb, subject),
            None => (user.groups.iter().any(|group| group == GROUP_MASTERS), String::new()),
        }
    }
}

impl Debug for Permissions {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "decided" } else { "system:masters" })
    }
}
