//! The time-outs of a deletion's steps. They run whether or not the workload cluster is reachable.

use chrono::{DateTime, Duration, Utc};
use engine::Action;
use machinery::clock::parse_rfc3339;

use crate::machine::changes::Plan;
use crate::machine::observed::Observed;

/// The interval at which a step of a deletion is checked again if no event reports its end.
const DELETION_RETRY: std::time::Duration = std::time::Duration::from_secs(20);

/// Returns the end of a time-out; `None` if it never ends (unset or 0) or has not begun.
pub fn end(timeout: Option<i32>, since: Option<&str>) -> Option<DateTime<Utc>> {
    let timeout =
        timeout.filter(|seconds| *seconds > 0).map(|seconds| Duration::seconds(i64::from(seconds)))?;
    since.and_then(parse_rfc3339)?.checked_add_signed(timeout)
}

/// Returns whether a time-out is over.
pub fn is_over(observed: &Observed, timeout: Option<i32>, since: Option<&str>) -> bool {
    end(timeout, since).is_some_and(|end| observed.now >= end)
}

/// Requests a reconcile for the end of a time-out, and at the latest after [`DELETION_RETRY`], since
/// time-outs end without an event.
pub fn come_again(plan: &mut Plan, observed: &Observed, end: Option<DateTime<Utc>>) {
    let left = end.and_then(|end| (end - observed.now).to_std().ok());
    let delay = left.map_or(DELETION_RETRY, |left| left.min(DELETION_RETRY));
    plan.action = plan.action.min(Action::requeue_after(delay));
}
