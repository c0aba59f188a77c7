//! Logs failed reconciles, each failure once.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;

use crate::error::Error;
use crate::object::Request;

/// The last failure of each object of a controller, and how often it came in a row.
#[derive(Default)]
pub struct Failures(Mutex<BTreeMap<Request, (String, u32)>>);

impl Failures {
    /// Logs a failed reconcile as a warning, unless the last reconcile of the object failed in the same way. A permanent mistake would
    /// otherwise be logged with every attempt. Conflicts are expected when several controllers write one object, so they are never
    /// warnings; and what is not found was mostly deleted since it was read, which the next attempt knows.
    pub(crate) fn log(&self, controller: &'static str, request: &Request, error: &Error, delay: Duration) {
        let times = self.times(request, error);
        if !error.is_conflict() && times == if is_gone(error) { 2 } else { 1 } {
            tracing::warn!(controller, object = %request, %error, "reconcile failed, trying again until it succeeds");
        } else {
            tracing::debug!(controller, object = %request, %error, ?delay, "reconcile failed, trying again");
        }
    }

    /// Records that the reconcile of an object succeeded.
    pub fn forget(&self, request: &Request) {
        self.0.lock().remove(request);
    }

    /// Returns how often the object has failed in this way in a row, with this time.
    pub fn times(&self, request: &Request, error: &Error) -> u32 {
        let text = error.to_string();
        let mut failures = self.0.lock();
        let (last, times) = failures.entry(request.clone()).or_default();
        if *last != text {
            (*last, *times) = (text, 0);
        }
        *times = times.saturating_add(1);
        *times
    }
}

/// Returns whether something was not found, and nothing else failed.
fn is_gone(error: &Error) -> bool {
    match error {
        Error::Several(errors) => errors.iter().all(is_gone),
        error => error.is_not_found(),
    }
}
