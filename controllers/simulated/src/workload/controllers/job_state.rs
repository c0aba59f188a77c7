//! What becomes of a Job besides its Pods: how it fails, how long it waits after failures, and its conditions. Pure functions.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use k8s_openapi::api::batch::v1::{Job, JobCondition, JobSpec, JobStatus};
use k8s_openapi::api::core::v1::Pod;

/// The failures that a Job accepts without another number.
const BACKOFF_LIMIT: i32 = 6;
/// The time that a Job waits after its first failure, and at most. It doubles with each failure.
const BACKOFF: (TimeDelta, TimeDelta) = (TimeDelta::seconds(10), TimeDelta::seconds(600));

/// Reason and message of a condition.
pub(super) type Cause = (String, String);

/// Returns when a Job ended; `None` if it goes on.
pub(super) fn ended_at(job: &Job) -> Option<DateTime<Utc>> {
    let ends = ["Complete", "Failed"].into_iter().filter_map(|kind| find(job.status.as_ref()?, kind));
    let end =
        ends.filter(|condition| condition.status == "True").find_map(|one| one.last_transition_time.as_ref());
    end.map(engine::time::utc)
}

/// Returns why a Job fails; `None` if it goes on.
pub(super) fn failure(job: &Job, spec: &JobSpec, failed: i32, now: DateTime<Utc>) -> Option<Cause> {
    let cause = |reason: &str, message: &str| Some((reason.to_owned(), message.to_owned()));
    let known = job.status.as_ref().and_then(|status| find(status, "FailureTarget"));
    if let Some(known) = known.filter(|known| known.status == "True") {
        return cause(
            known.reason.as_deref().unwrap_or_default(),
            known.message.as_deref().unwrap_or_default(),
        );
    }
    if failed > spec.backoff_limit.unwrap_or(BACKOFF_LIMIT) {
        return cause("BackoffLimitExceeded", "Job has reached the specified backoff limit");
    }
    if until_deadline(job, spec, now).is_some_and(|left| left <= TimeDelta::zero()) {
        return cause("DeadlineExceeded", "Job was active longer than specified deadline");
    }
    None
}

/// Returns the time that is left to a Job; `None` if it has no deadline, or does not run.
pub(super) fn until_deadline(job: &Job, spec: &JobSpec, now: DateTime<Utc>) -> Option<TimeDelta> {
    let seconds = spec.active_deadline_seconds.filter(|_| spec.suspend != Some(true))?;
    let began = engine::time::utc(job.status.as_ref()?.start_time.as_ref()?);
    began.checked_add_signed(TimeDelta::try_seconds(seconds)?).map(|end| end - now)
}

/// Returns how long no Pod is created after failures since the last success.
pub(super) fn backoff(succeeded: &[&Arc<Pod>], failed: &[&Arc<Pod>], now: DateTime<Utc>) -> Option<Duration> {
    let success = succeeded.iter().map(|pod| finished(pod)).max();
    let failures: Vec<DateTime<Utc>> = failed
        .iter()
        .map(|pod| finished(pod))
        .filter(|time| success.is_none_or(|success| *time > success))
        .collect();
    let last = failures.iter().max()?;
    let doublings = u32::try_from(failures.len() - 1).unwrap_or(u32::MAX).min(16);
    let wait = (BACKOFF.0 * 2_i32.pow(doublings)).min(BACKOFF.1);
    (wait - (now - *last)).to_std().ok().filter(|left| !left.is_zero())
}

/// Returns when the containers of a Pod ended.
fn finished(pod: &Pod) -> DateTime<Utc> {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let mut ready = conditions.filter(|condition| condition.type_ == "Ready" && condition.status == "False");
    let time = ready.find_map(|condition| condition.last_transition_time.as_ref());
    let time = time.or(pod.metadata.creation_timestamp.as_ref());
    time.map(engine::time::utc).unwrap_or_default()
}

/// Says in the status whether a Job is suspended. One that is resumed starts anew.
pub(super) fn suspend(status: &mut JobStatus, is_suspended: bool, now: DateTime<Utc>) {
    let (value, cause) = match is_suspended {
        true => ("True", ("JobSuspended", "Job suspended")),
        false => ("False", ("JobResumed", "Job resumed")),
    };
    let before = find(status, "Suspended").map(|condition| condition.status == "True");
    if before == Some(is_suspended) || (before.is_none() && !is_suspended) {
        return;
    }
    set(status, "Suspended", value, (cause.0.to_owned(), cause.1.to_owned()), now);
    status.start_time = (!is_suspended).then(|| engine::time::time(now));
}

/// Sets a condition.
pub(super) fn set(
    status: &mut JobStatus,
    kind: &str,
    value: &str,
    (reason, message): Cause,
    now: DateTime<Utc>,
) {
    let condition = JobCondition {
        type_: kind.to_owned(),
        status: value.to_owned(),
        reason: Some(reason),
        message: Some(message),
        last_probe_time: Some(engine::time::time(now)),
        last_transition_time: Some(engine::time::time(now)),
    };
    let conditions = status.conditions.get_or_insert_default();
    match conditions.iter_mut().find(|one| one.type_ == kind) {
        Some(before) if before.status == value => {}
        Some(before) => *before = condition,
        None => conditions.push(condition),
    }
}

fn find<'a>(status: &'a JobStatus, kind: &str) -> Option<&'a JobCondition> {
    status.conditions.iter().flatten().find(|condition| condition.type_ == kind)
}
