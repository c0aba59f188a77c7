//! Tasks that a real cluster's controller manager performs for the API server's own kinds. Each task is driven by a
//! watch and ends with the registry.

mod advertised;
mod aggregation;
mod cleanup;
mod default_roles;
mod events;
mod garbage;
mod graph;
mod namespaces;
mod policy;
mod service_accounts;

use std::sync::{Arc, Weak};

use store::Event;

use crate::registry::{Inner, Registry};

/// Maximum number of concurrent requests of one part: enough to share the disk's syncs, few enough not to delay
/// clients.
pub(crate) const CONCURRENCY: usize = 64;

/// One part of the housekeeping. It observes every change, and then performs the necessary work.
pub(crate) trait Part: Send + 'static {
    /// Records a change.
    fn observe(&mut self, registry: &Registry, event: &Event);

    /// Performs pending work. Returns `true` if work remains that needs no further change.
    fn work(&mut self, registry: &Registry) -> impl Future<Output = bool> + Send;
}

/// Creates the default objects and starts the tasks.
pub(crate) async fn start(registry: &Registry) {
    let parts = registry.0.options.housekeeping.clone();
    if parts.namespaces {
        namespaces::create_defaults(registry).await;
    }
    if parts.namespace_deletion {
        run(registry, "/registry/", namespaces::Emptying::new);
    }
    if parts.roles {
        policy::reconcile(registry).await;
    }
    if parts.role_aggregation {
        run(registry, aggregation::PREFIX, aggregation::Aggregation::new);
    }
    run(registry, "/registry/", cleanup::Cleanup::new);
    if parts.service_accounts || parts.root_certificate.is_some() {
        run(registry, "/registry/core/", service_accounts::Defaults::new);
    }
    if parts.garbage_collection {
        run(registry, "/registry/", garbage::Collector::new);
    }
    if parts.event_expiry {
        events::start(registry);
    }
}

/// Runs a part on the changes below `prefix`, until the registry is dropped.
fn run<P: Part>(registry: &Registry, prefix: &'static str, part: impl FnOnce(&Registry) -> P) {
    let revision = registry.storage().revision();
    let Ok(mut changes) = registry.storage().watch(prefix, revision) else { return };
    let mut part = part(registry);
    let weak: Weak<Inner> = Arc::downgrade(&registry.0);
    tokio::spawn(async move {
        let mut busy = true;
        loop {
            if !busy {
                let Ok(event) = changes.next().await else { return };
                let Some(registry) = weak.upgrade().map(Registry) else { return };
                part.observe(&registry, &event);
            }
            let Some(registry) = weak.upgrade().map(Registry) else { return };
            loop {
                match changes.try_next() {
                    Ok(Some(event)) => part.observe(&registry, &event),
                    Ok(None) => break,
                    Err(_) => return,
                }
            }
            busy = part.work(&registry).await;
        }
    });
}
