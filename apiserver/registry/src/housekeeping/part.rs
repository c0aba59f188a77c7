//! A part of the housekeeping, and the task that drives it.

use std::sync::{Arc, Weak};

use machinery::status::Status;
use store::Event;
use tokio::time::Instant;

use crate::write::writes::Writes;

/// Maximum number of concurrent requests of one part: enough to share the disk's syncs, few enough not to delay
/// clients.
pub(crate) const CONCURRENCY: usize = 64;

/// One part of the housekeeping. It observes every change, and then performs the necessary work.
pub(crate) trait Part: Send + 'static {
    /// Records a change.
    fn observe(&mut self, writes: &Writes, event: &Event);

    /// Performs pending work. Returns `true` if work remains that needs no further change.
    fn work(&mut self, writes: &Writes) -> impl Future<Output = bool> + Send;

    /// Returns when to work again even without a change; `None` if only changes make work.
    fn again_at(&self) -> Option<Instant> {
        None
    }
}

/// Returns whether a write failed because of another client's. The part observes that write, too, and works again.
pub(crate) fn is_overtaken(status: &Status) -> bool {
    matches!(status.reason, "AlreadyExists" | "NotFound" | "Conflict")
}

/// Runs a part on the changes below `prefix`, until the registry is dropped.
pub(crate) fn run<P: Part>(writes: &Arc<Writes>, prefix: &'static str, part: impl FnOnce(&Writes) -> P) {
    let revision = writes.storage().revision();
    let Ok(mut changes) = writes.storage().watch(prefix, revision) else { return };
    let mut part = part(writes);
    let weak: Weak<Writes> = Arc::downgrade(writes);
    let clock = writes.clock().clone();
    tokio::spawn(async move {
        let mut busy = true;
        loop {
            if !busy {
                let again_at = part.again_at();
                let again = async {
                    match again_at {
                        Some(at) => clock.sleep(at.saturating_duration_since(clock.monotonic())).await,
                        None => std::future::pending().await,
                    }
                };
                let event = tokio::select! {
                    biased;
                    event = changes.next() => Some(event),
                    () = again => None,
                };
                let Some(writes) = weak.upgrade() else { return };
                match event {
                    Some(Ok(event)) => part.observe(&writes, &event),
                    Some(Err(_)) => return,
                    None => {}
                }
            }
            let Some(writes) = weak.upgrade() else { return };
            loop {
                match changes.try_next() {
                    Ok(Some(event)) => part.observe(&writes, &event),
                    Ok(None) => break,
                    Err(_) => return,
                }
            }
            busy = part.work(&writes).await;
        }
    });
}
