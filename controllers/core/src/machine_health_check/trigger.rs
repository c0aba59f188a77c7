//! The short circuit: whether unhealthy Machines are remediated, or are so many that something else must be wrong.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemas::cluster::HealthCheckRemediationTriggerIf;

use crate::amount;

const DEFAULT_LIMIT: &str = "100%";

/// The numbers of Machines that decide.
#[derive(Debug, Clone, Copy)]
pub struct Counts {
    /// Machines that are watched.
    pub expected: i32,
    /// Machines that are healthy.
    pub healthy: i32,
    /// Machines of which a check fails.
    pub failed: i32,
}

impl Counts {
    /// Returns the number of Machines that are not healthy, or not yet.
    fn not_healthy(self) -> i32 {
        self.expected - self.healthy
    }
}

/// Decides whether Machines may be remediated. Returns how many more may become unhealthy, or the reason why none is remediated.
///
/// # Errors
/// Fails if a limit is neither a number, a percentage nor a range; says which field has to be changed.
pub fn decide(
    trigger: &HealthCheckRemediationTriggerIf,
    counts: Counts,
) -> Result<Result<i32, String>, String> {
    let not_healthy = counts.not_healthy();
    let found = format!("total: {}, unhealthy: {}", counts.expected, counts.failed);
    if let Some(text) = trigger.unhealthy_in_range.as_deref().filter(|text| !text.is_empty()) {
        let (least, most) = range(text)?;
        if (least..=most).contains(&not_healthy) {
            return Ok(Ok(most - not_healthy));
        }
        let message = format!(
            "Remediation is not allowed, the number of not started or unhealthy machines does not fall within the range ({found}, unhealthyRange: {text})"
        );
        return Ok(Err(message));
    }
    let default = IntOrString::String(DEFAULT_LIMIT.to_owned());
    let limit = trigger.unhealthy_less_than_or_equal_to.as_ref().unwrap_or(&default);
    let most = resolve(limit, counts.expected)?;
    if not_healthy <= most {
        return Ok(Ok(most - not_healthy));
    }
    let limit = amount::text(limit);
    let message = format!(
        "Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy ({found}, maxUnhealthy: {limit})"
    );
    Ok(Err(message))
}

/// Parses a range such as `[3-5]`.
fn range(text: &str) -> Result<(i32, i32), String> {
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let parts = inner.and_then(|inner| inner.split_once('-'));
    let parsed = parts.and_then(|(least, most)| Some((least.parse().ok()?, most.parse().ok()?)));
    parsed.filter(|(least, most)| least <= most).ok_or_else(|| {
        format!(
            "spec.remediation.triggerIf.unhealthyInRange {text:?} is no range: write [LEAST-MOST], for example [3-5]"
        )
    })
}

/// Resolves a number, or a percentage of `total` rounded down.
fn resolve(limit: &IntOrString, total: i32) -> Result<i32, String> {
    amount::resolve(limit, total, false).ok_or_else(|| {
        format!(
            "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo {:?} is neither a number nor a percentage: write for example 2 or 40%",
            amount::text(limit)
        )
    })
}
