//! The limits on remediating again a Machine that is itself a replacement. Pure functions.

use chrono::{DateTime, Duration, Utc};
use engine::object;
use machinery::duration;
use schemas::controlplane::KubeadmControlPlane;

use super::{CANNOT, DEFERRED, INTERNAL_ERROR, Refusal};
use crate::controlplane::observed::ControlPlaneMachine;
use crate::controlplane::record::Record;
use crate::names;

/// `spec.remediation.minHealthyPeriodSeconds`: a replacement that fails later than this begins a new sequence of tries.
const MIN_HEALTHY_SECONDS: i32 = 3600;
/// `spec.remediation.retryPeriodSeconds`.
const RETRY_SECONDS: i32 = 0;

/// Returns the record of the next remediation of a Machine.
///
/// # Errors
/// The limit that forbids it now.
pub(super) fn next(
    control_plane: &KubeadmControlPlane,
    member: &ControlPlaneMachine,
    now: DateTime<Utc>,
) -> Result<Record, Refusal> {
    let first = Record::new(member.name(), now);
    let Some(last) = object::annotation(member.machine.as_ref(), names::REMEDIATION_FOR) else {
        return Ok(first);
    };
    let last = Record::parse(names::REMEDIATION_FOR, last).map_err(|message| Refusal {
        reason: INTERNAL_ERROR,
        message,
        due: None,
    })?;
    let limits = control_plane.spec.remediation.clone().unwrap_or_default();
    let seconds = |value: Option<i32>, default: i32| Duration::seconds(i64::from(value.unwrap_or(default)));
    let min_healthy = seconds(limits.min_healthy_period_seconds, MIN_HEALTHY_SECONDS);
    let retry = seconds(limits.retry_period_seconds, RETRY_SECONDS);
    let Some(time) = last.time().filter(|time| *time + min_healthy > now) else { return Ok(first) };
    if time + retry > now {
        let message = format!(
            "KubeadmControlPlane can't remediate this machine because the operation already failed in the latest {} (RetryPeriodSeconds)",
            duration::of_seconds(retry.num_seconds())
        );
        return Err(Refusal { reason: DEFERRED, message, due: Some(time + retry) });
    }
    match limits.max_retry.filter(|most| last.retry_count >= *most) {
        None => Ok(Record { retry_count: last.retry_count + 1, ..first }),
        Some(most) => {
            let message = format!(
                "KubeadmControlPlane can't remediate this machine because the operation already failed {most} times (MaxRetry)"
            );
            Err(Refusal { reason: CANNOT, message, due: Some(time + min_healthy) })
        }
    }
}
