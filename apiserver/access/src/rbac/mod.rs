//! Role-based access control over the roles and bindings in the store. The compiled policy is always current.

mod binding;
mod escalation;
mod policy;
mod rule;
mod signers;

use std::sync::Arc;

use machinery::field::aggregate;
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use store::{EventKind, Page, Prefix, Store, Watcher};

pub(crate) use rule::quoted;
pub use rule::{Rule, beyond};

use crate::attributes::Attributes;
use crate::authorize::{Authorizer, Decision, UserRules};
use kinds::user::{GROUP_MASTERS, User};
use policy::{Policy, Verdict};

/// The API group of roles and bindings.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";

/// Authorizes by the roles and bindings in a store, and prevents privilege escalation (as a
/// [`registry::Admission`]). Clones share all state.
///
/// Each decision first applies pending changes: a decision is never older than the last acknowledged write,
/// and after the first read only changes are read from the store.
#[derive(Clone)]
pub struct Rbac(Arc<Inner>);

struct Inner {
    store: Store,
    /// Watch of changes that the policy does not include yet; `None` if the policy must be read from the
    /// store again.
    changes: Mutex<Option<Watcher>>,
    policy: RwLock<Policy>,
}

impl Rbac {
    /// Creates an authorizer over `store`.
    pub fn new(store: Store) -> Self {
        Self(Arc::new(Inner { store, changes: Mutex::new(None), policy: RwLock::default() }))
    }

    /// Returns the current policy.
    fn policy(&self) -> RwLockReadGuard<'_, Policy> {
        self.0.catch_up();
        self.0.policy.read()
    }
}

impl Inner {
    /// Applies all pending changes. The lock on the changes is held meanwhile, so that no other thread
    /// decides by a policy that lacks a change already taken from the queue.
    fn catch_up(&self) {
        let mut changes = self.changes.lock();
        while let Some(watcher) = changes.as_mut() {
            match watcher.try_next() {
                Ok(None) => return,
                Ok(Some(event)) => {
                    let object = (event.kind != EventKind::Deleted).then_some(&*event.object.value);
                    self.policy.write().apply(event.key(), object);
                }
                Err(_) => *changes = None,
            }
        }
        *changes = self.read_anew();
    }

    /// Replaces the policy by the store's contents. Returns `None` if the store has stopped, so that nothing
    /// changes any more.
    fn read_anew(&self) -> Option<Watcher> {
        let prefix = Prefix::group(GROUP).unwrap_or_else(|_| Prefix::all());
        let snapshot = self.store.list(&prefix, &Page::default());
        let mut policy = Policy::default();
        for stored in &snapshot.items {
            policy.apply(&stored.key, Some(&stored.value));
        }
        *self.policy.write() = policy;
        self.store.watch(&prefix, snapshot.revision).ok()
    }
}

impl Authorizer for Rbac {
    fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        if attributes.user.is_in(GROUP_MASTERS) {
            return Decision::Allow;
        }
        match self.policy().judge(attributes) {
            Verdict::Allowed { .. } => Decision::Allow,
            Verdict::Denied { missing } => Decision::Deny(reason(&missing)),
        }
    }

    fn explain(&self, attributes: &Attributes<'_>) -> (bool, String) {
        if attributes.user.is_in(GROUP_MASTERS) {
            return (true, String::new());
        }
        match self.policy().judge(attributes) {
            Verdict::Allowed { grant } => {
                (true, format!("RBAC: allowed by {}", grant.describe(attributes.user)))
            }
            Verdict::Denied { missing } => (false, reason(&missing)),
        }
    }

    fn rules(&self, user: &User, namespace: &str) -> UserRules {
        let policy = self.policy();
        let (rules, missing) = policy.rules(user, namespace);
        UserRules {
            rules: rules.into_iter().cloned().collect(),
            incomplete: false,
            error: aggregate(&missing),
        }
    }
}

fn reason(missing: &[String]) -> String {
    if missing.is_empty() { String::new() } else { format!("RBAC: {}", aggregate(missing)) }
}
