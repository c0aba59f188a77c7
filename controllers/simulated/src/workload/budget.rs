//! PodDisruptionBudgets: whether one of them forbids the eviction of a Pod. Pure functions.
//!
//! No disruption controller runs in a simulated cluster. What its status would say is computed from the budget and the Pods at the moment
//! of an eviction; a status that somebody wrote counts instead.

use machinery::selector::LabelSelector;
use serde_json::Value;

/// The answer of a budget.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The Pod can be evicted.
    Allowed,
    /// A budget forbids it; holds the message that names the budget.
    Forbidden(String),
    /// Several budgets select the Pod, which the API does not support.
    Ambiguous,
}

/// Decides on the eviction of `pod`. `pods` are all Pods of its namespace, and `budgets` all its PodDisruptionBudgets.
pub fn judge(pod: &Value, pods: &[Value], budgets: &[Value]) -> Verdict {
    // The eviction of a Pod that runs nothing disrupts nothing.
    if ["Pending", "Succeeded", "Failed"].iter().any(|phase| pod["status"]["phase"] == *phase)
        || pod["metadata"]["deletionTimestamp"].is_string()
    {
        return Verdict::Allowed;
    }
    let selecting: Vec<&Value> = budgets.iter().filter(|budget| selects(budget, pod)).collect();
    let budget = match selecting.as_slice() {
        [] => return Verdict::Allowed,
        [budget] => *budget,
        _ => return Verdict::Ambiguous,
    };
    let count = Count::of(budget, pods);
    let always = budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow";
    let is_spare = count.desired > 0 && count.healthy >= count.desired;
    if count.allowed > 0 || (!is_ready(pod) && (always || is_spare)) {
        return Verdict::Allowed;
    }
    let name = budget["metadata"]["name"].as_str().unwrap_or_default();
    let message = format!(
        "The disruption budget {name} needs {} healthy pods and has {} currently",
        count.desired, count.healthy
    );
    Verdict::Forbidden(message)
}

/// The numbers of Pods that a budget's status reports.
struct Count {
    desired: i64,
    healthy: i64,
    allowed: i64,
}

impl Count {
    fn of(budget: &Value, pods: &[Value]) -> Self {
        let selected: Vec<&Value> = pods.iter().filter(|pod| selects(budget, pod)).collect();
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let expected = number(selected.len());
        let is_healthy = |pod: &&&Value| is_ready(pod) && !pod["metadata"]["deletionTimestamp"].is_string();
        let spec = &budget["spec"];
        let least = amount(&spec["minAvailable"], expected);
        let desired =
            least.or_else(|| Some(expected.saturating_sub(amount(&spec["maxUnavailable"], expected)?)));
        let desired = desired.unwrap_or(0).max(0);
        let healthy = number(selected.iter().filter(is_healthy).count());
        let told = |field: &str| budget["status"][field].as_i64();
        Self {
            desired: told("desiredHealthy").unwrap_or(desired),
            healthy: told("currentHealthy").unwrap_or(healthy),
            allowed: told("disruptionsAllowed").unwrap_or(healthy.saturating_sub(desired)),
        }
    }
}

/// Returns a number of Pods, or a percentage of `total` rounded up; `None` if the value is neither.
fn amount(value: &Value, total: i64) -> Option<i64> {
    if let Some(number) = value.as_i64() {
        return Some(number);
    }
    let percent = value.as_str()?.strip_suffix('%')?.parse::<i32>().ok()?;
    Some(total.saturating_mul(i64::from(percent)).saturating_add(99).div_euclid(100))
}

/// Returns whether the budget selects the Pod. A budget without a selector selects none, and an empty selector selects all.
fn selects(budget: &Value, pod: &Value) -> bool {
    let selector = &budget["spec"]["selector"];
    selector.is_object()
        && LabelSelector::from_object(selector)
            .is_ok_and(|selector| selector.matches(pod["metadata"]["labels"].as_object()))
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}
