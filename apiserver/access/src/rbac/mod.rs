//! Role-based access control: roles and bindings as they are in the store, compiled, and always current.

mod binding;
mod escalation;
mod policy;
mod rule;
mod signers;

use std::sync::Arc;

use machinery::field::aggregate;
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use store::{EventKind, Page, Prefix, Store, Watcher};

pub use rule::Rule;
pub(crate) use rule::quoted;

use crate::attributes::Attributes;
use crate::authorize::{Authorizer, Decision, UserRules};
use crate::user::{GROUP_MASTERS, User};
use policy::{Policy, Verdict};

/// The group of roles and bindings.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";

/// Decides by the roles and bindings in a store, and keeps users from granting more than they have (as a
/// [`registry::Admission`]). Clones share everything.
///
/// Whoever asks first takes note of what has changed: a decision is never older than the last acknowledged write, and
/// nothing is read from the store but changes.
#[derive(Clone)]
pub struct Rbac(Arc<Inner>);

struct Inner {
    store: Store,
    /// The changes that the policy has not seen; `None`: it must be read anew.
    changes: Mutex<Option<Watcher>>,
    policy: RwLock<Policy>,
}

impl Rbac {
    /// Decides by what `store` holds.
    pub fn new(store: Store) -> Self {
        Self(Arc::new(Inner { store, changes: Mutex::new(None), policy: RwLock::default() }))
    }

    /// The policy as the store has it now.
    fn policy(&self) -> RwLockReadGuard<'_, Policy> {
        self.0.catch_up();
        self.0.policy.read()
    }
}

impl Inner {
    /// Brings the policy up to the store. The lock on the changes is held meanwhile, so that nobody decides by a policy
    /// that lacks what another has taken from the queue.
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

    /// Replaces the policy by what the store holds. `None` when the store has stopped: nothing changes any more.
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
