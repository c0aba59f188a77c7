//! A part of the housekeeping, and the task that drives it.

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

/// Runs a part on the changes below `prefix`, until the registry is dropped.
pub(crate) fn run<P: Part>(registry: &Registry, prefix: &'static str, part: impl FnOnce(&Registry) -> P) {
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
