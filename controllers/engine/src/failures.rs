//! Logs failed reconciles, each failure once.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;

use crate::error::Error;
use crate::object::Request;

/// The last logged failure of each object of a controller.
#[derive(Default)]
pub(crate) struct Failures(Mutex<BTreeMap<Request, String>>);

impl Failures {
    /// Logs a failed reconcile as a warning, unless the last reconcile of the object failed in the same way. A permanent mistake would
    /// otherwise be logged with every attempt. Conflicts are expected when several controllers write one object, so they are never
    /// warnings.
    pub(crate) fn log(&self, controller: &'static str, request: &Request, error: &Error, delay: Duration) {
        if !error.is_conflict() && self.is_new(request, error) {
            tracing::warn!(controller, object = %request, %error, "reconcile failed, trying again until it succeeds");
        } else {
            tracing::debug!(controller, object = %request, %error, ?delay, "reconcile failed, trying again");
        }
    }

    /// Records that the reconcile of an object succeeded.
    pub(crate) fn forget(&self, request: &Request) {
        self.0.lock().remove(request);
    }

    fn is_new(&self, request: &Request, error: &Error) -> bool {
        let text = error.to_string();
        self.0.lock().insert(request.clone(), text.clone()).is_none_or(|last| last != text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_new_until_it_is_repeated() {
        let failures = Failures::default();
        let (first, second) = (Request::new("default", "first"), Request::new("default", "second"));
        let (missing, refused) = (Error::failed("missing"), Error::failed("refused"));
        assert!(failures.is_new(&first, &missing));
        assert!(!failures.is_new(&first, &missing));
        assert!(failures.is_new(&second, &missing));
        assert!(failures.is_new(&first, &refused));
        failures.forget(&first);
        assert!(failures.is_new(&first, &refused));
    }
}
